import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { parseYamlSettings } from "../../../src/machinery/command-line/settings/parse-yaml-settings.ts";
import { parseAgentConfiguration } from "../../../src/cli/agent/agent-configuration.ts";
import { keyTypes } from "../../../src/pki/keys/keys.ts";
import { withUnknownFields } from "../../machinery/command-line/with-unknown-fields.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const header = "apiVersion: signet.platform.io/v1\nkind: AgentConfiguration\n";
const everything = `${header}
servers: ["https://one.example:6443", "https://two.example:6443"]
caFile: ca.crt
caBundle: example:server-ca
bootstrapTokenFile: /run/token
nodeName: n1
leaseDuration: 2m
listen: { address: "::1", port: 0 }
onChange: { command: "true" }
trustBundles:
  - { signer: example.com/services, file: trust.pem, hook: { command: reload, timeout: 5s } }
  - { name: "example:root", pkcs12: trust.p12 }
  - { name: "example:root", jks: trust.jks, passwordFile: password }
certificates:
  - name: web
    signer: example.com/services
    commonName: \${node}.example.com
    dnsNames: ["\${node}.example.com", "*.web.example.com"]
    ipAddresses: ["\${address}", "FE80:0::1"]
    keyType: RSA 2048
    lifetime: 24h
    renewAtPercent: 50
    files:
      - { pem: web.pem, owner: "33", group: "33", mode: "0640" }
      - { folder: tls, key: server.key, certificate: server.crt, chain: chain.crt }
      - { pkcs12: web.p12, passwordFile: password }
    hook: { check: nginx -t, command: nginx -s reload }
`;

test("a configuration file has everything that flags have, and the certificates of services", () => {
  const { flags, certificates, trustBundles, hook } = parseAgentConfiguration(everything, "/etc/signet");
  assert.deepEqual(flags, {
    server: ["https://one.example:6443", "https://two.example:6443"],
    caFile: "/etc/signet/ca.crt",
    bootstrapTokenFile: "/run/token",
    nodeName: "n1",
    leaseDuration: "2m",
    listenAddress: "::1",
    port: "0",
  });
  const stores = trustBundles.map(({ store }) => store && [store.type, store.passwordFile]);
  assert.deepEqual(stores, [undefined, ["pkcs12", undefined], ["jks", "/etc/signet/password"], undefined]);
  assert.equal(trustBundles[1]?.store?.password(), "changeit");
  const ofRoot = { source: { bundleName: "example:root" }, hook: undefined };
  const withoutStores = trustBundles.map(({ source, file, hook }) => ({ source, file, hook }));
  assert.deepEqual(withoutStores, [
    {
      source: { signerName: "example.com/services" },
      file: "/etc/signet/trust.pem",
      hook: { command: "reload", check: undefined, timeoutMilliseconds: 5000 },
    },
    { ...ofRoot, file: "/etc/signet/trust.p12" },
    { ...ofRoot, file: "/etc/signet/trust.jks" },
    { source: { bundleName: "example:server-ca" }, file: "/etc/signet/ca.crt", hook: undefined },
  ]);
  assert.equal(hook?.timeoutMilliseconds, 60_000);
  const [{ outputs, ...web } = assert.fail()] = certificates;
  assert.deepEqual(web, {
    name: "web",
    signerName: "example.com/services",
    commonName: "${node}.example.com",
    organizations: [],
    dnsNames: ["${node}.example.com", "*.web.example.com"],
    ipAddresses: ["${address}", "fe80::1"],
    emailAddresses: [],
    uris: [],
    usages: ["digital signature", "server auth"],
    keyType: "RSA 2048",
    lifetimeSeconds: 86_400,
    renewalShare: 0.5,
    hook: { command: "nginx -s reload", check: "nginx -t", timeoutMilliseconds: 60_000 },
  });
  assert.deepEqual(
    outputs.map((output) =>
      output.type === "folder" ? [output.type, output.folder, output.names] : [output.type, output.file],
    ),
    [
      ["pem", "/etc/signet/web.pem"],
      ["folder", "/etc/signet/tls", { key: "server.key", certificate: "server.crt", chain: "chain.crt" }],
      ["pkcs12", "/etc/signet/web.p12"],
    ],
  );
  assert.deepEqual(outputs[0]?.ownership, { mode: 0o640, uid: 33, gid: 33 });
});

test("a field of a configuration file that there is not is refused, wherever it is", () => {
  for (const { path, content } of withUnknownFields(parseYamlSettings(everything))) {
    assert.throws(
      () => parseAgentConfiguration(JSON.stringify(content), "/etc/signet"),
      (error: Error) => error.message.includes(`${path}: unknown field`),
    );
  }
});

test("every fault of a configuration file is reported with the path of its field", () => {
  const text = `${header}
servers: [http://plain.example]
listen: { port: 70000, adress: x }
nodeName: Not A Name
trustBundles: [{ name: a, signer: b, file: f }, { name: c, file: f }]
certificates:
  - { name: client, dnsNames: ["a b"], files: [{ pem: a, folder: b }] }
  - { name: x, signer: s, dnsNames: ["\${host}"], files: [{ jks: k, mode: "0644" }, { pem: p, owner: no-such-user }] }
  - { name: x, signer: s, uris: ["spiffe://x"], keyType: DSA, renewAtPercent: 99, hook: { check: c } }
more: true
`;
  assert.throws(
    () => parseAgentConfiguration(text, "/"),
    (error: Error) => {
      for (const fault of [
        'servers[0]: "http://plain.example" is not a URL such as https://signet.example.com:6443',
        "listen.port: must be a whole number from 0 to 65535",
        "listen.adress: unknown field",
        "nodeName: ",
        "trustBundles[0].name: give either name or signer",
        "trustBundles[1]: /f is the file of trustBundles[0]",
        "certificates[0].name: client is the name of a certificate of the node itself",
        "certificates[0].signer: is required",
        "certificates[0].dnsNames[0]: ",
        "certificates[0].files[0].pem: give one of pem, folder, pkcs12, jks",
        "certificates[1].dnsNames[0]: ${host} is not known here",
        "certificates[1].files[0].passwordFile: is required",
        "certificates[1].files[0].mode: must not let",
        'certificates[1].files[1].owner: there is no user "no-such-user"',
        "certificates[2].keyType: must be one of",
        "certificates[2].renewAtPercent: must be",
        "certificates[2].hook.command: is required",
        "certificates[2].name: must be unique, but certificates[1] has the same name",
        "more: unknown field",
      ]) {
        assert.ok(error.message.includes(fault), `${fault}\n${error.message}`);
      }
      return true;
    },
  );
});

test("each rule for a field of a configuration file is held", () => {
  const refused = (text: string, fault: string): void =>
    assert.throws(
      () => parseAgentConfiguration(`${header}${text}\n`, "/d"),
      (error: Error) => error.message.includes(fault),
      `${text.slice(0, 100)}: ${fault}`,
    );
  refused('caFile: ""', "caFile: must not be empty");
  refused("logLevel: loud", "logLevel: must be one of");
  refused("logFormat: xml", "logFormat: must be one of");
  refused("caBundle: b", "caBundle: needs caFile");
  const oneFormat = "trustBundles[0].file: give one of file, pkcs12, jks";
  refused("trustBundles: [{ name: a }]", oneFormat);
  refused("trustBundles: [{ name: a, file: f, jks: g }]", oneFormat);
  refused('trustBundles: [{ name: a, pkcs12: "" }]', "trustBundles[0].pkcs12: must not be empty");
  refused("trustBundles: [{ name: a, file: f, passwordFile: p }]", "trustBundles[0].passwordFile: unknown field");
  refused('trustBundles: [{ name: a, jks: f, passwordFile: "" }]', "trustBundles[0].passwordFile: must not be empty");
  const bundles = Array.from({ length: 201 }, (_, index) => `{ name: a, file: f${index} }`);
  refused(`trustBundles: [${bundles.join(", ")}]`, "trustBundles: must have at most 200 entries");
  for (const timeout of ["0s", "61m", "soon"]) {
    refused(`onChange: { command: c, timeout: ${timeout} }`, "onChange.timeout: must be a duration");
  }
  const certificate = (fields: string, names = "dnsNames: [a]"): string =>
    `certificates: [{ name: a, signer: s, ${names}, ${fields} }]`;
  for (const name of ["../a", "A", "-a", "a".repeat(41)]) {
    refused(`certificates: [{ name: ${name}, signer: s, dnsNames: [a] }]`, "[0].name: must be 1 to 40 lower case");
  }
  refused(certificate("organizations: [o]", "usages: [server auth]"), "[0].dnsNames: must name something");
  refused(certificate('commonName: "${host}"'), "[0].commonName: ${host} is not known here");
  refused(certificate("lifetime: 9m"), "[0].lifetime: must be a duration");
  for (const name of ["../k", "/k", "k/l", ".k"]) {
    refused(
      certificate(`files: [{ folder: f, key: ${name} }]`),
      "[0].files[0].key: must be a file name without folders",
    );
  }
  refused(certificate('files: [{ pem: "a\\0b" }]'), "[0].files[0].pem: must not contain a NUL");
  refused(certificate("lifetime: 1h", 'dnsNames: ["a\\0b"]'), "[0].dnsNames[0]: must not contain a NUL");
  refused(certificate("files: [{ folder: f, key: k, chain: k }]"), "[0].files[0].key: must not share its name");
  refused(certificate("files: [{ jks: f, passwordFile: p, alias: a b }]"), "[0].files[0].alias: must be 1 to 64");
  for (const mode of ["64", "0o640", "rw-------"]) {
    refused(certificate(`files: [{ pem: f, mode: "${mode}" }]`), "[0].files[0].mode: must be octal digits");
  }
  // It would be an option of the program that knows the users.
  refused(certificate('files: [{ pem: f, owner: "--help" }]'), '[0].files[0].owner: there is no user "--help"');
  const longest = "onChange: { command: c, timeout: 1h }\ncertificateLifetime: 10m\nlogLevel: debug\nlogFormat: json\n";
  parseAgentConfiguration(`${header}${longest}${certificate("lifetime: 10m")}\n`, "/d");
});

test("a certificate of a service may have a key of every type that can be generated", () => {
  for (const keyType of keyTypes) {
    const text = `${header}certificates: [{ name: a, signer: s, dnsNames: [a], keyType: ${keyType} }]\n`;
    assert.equal(parseAgentConfiguration(text, "/d").certificates[0]?.keyType, keyType);
  }
});

test("the password of a key store is read when it is needed, and has to be one that every program takes", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-password-"));
  const text = `${header}certificates: [{ name: a, signer: s, dnsNames: [a], files: [{ jks: k, passwordFile: p }] }]\n`;
  const [output] = parseAgentConfiguration(text, folder).certificates[0]?.outputs ?? [];
  const passwordOf = (written: string): string => {
    writeFileSync(join(folder, "p"), written, { mode: 0o600 });
    return output?.type === "jks" ? output.password() : assert.fail();
  };
  for (const good of ["secret", "two words", "x".repeat(128)]) assert.equal(passwordOf(`${good}\n`), good);
  for (const bad of ["", "short", "x".repeat(129), "pässwort", "secret\nsecret"]) {
    assert.throws(() => passwordOf(bad), /the password must have 6 to 128 visible ASCII characters/);
  }
  rmSync(join(folder, "p"));
  assert.throws(() => (output?.type === "jks" ? output.password() : undefined), /the password file is missing/);
  rmSync(folder, { recursive: true });
});

test("an empty address to listen on is refused: it would be every one of the machine", () => {
  assert.throws(
    () => parseAgentConfiguration(`${header}\nlisten: { address: "" }`, "/"),
    /listen\.address: must not be empty/,
  );
});

test("a file that two settings would write, or that another setting reads, is refused", () => {
  const text = `${header}
caFile: ca.pem
bootstrapTokenFile: token
trustBundles: [{ name: a, file: trust.pem }, { name: a, pkcs12: trust.p12, passwordFile: trust.p12 }]
certificates:
  - name: one
    signer: s
    dnsNames: [a]
    files: [{ pem: ./x/../one.pem }, { folder: tls }, { pem: token }, { pem: ca.pem }, { pem: "", group: "4294967295" }]
  - name: two
    signer: s
    dnsNames: [b]
    files: [{ pem: one.pem }, { folder: tls, key: other.key }, { pem: tls/tls.crt }, { jks: /d/trust.pem, passwordFile: /d/trust.pem }]
`;
  assert.throws(
    () => parseAgentConfiguration(text, "/d"),
    (error: Error) => {
      assert.deepEqual(error.message.split("; "), [
        "certificates[0].files[4].pem: must name a file or folder",
        'certificates[0].files[4].group: there is no group "4294967295"',
        "trustBundles[0]: /d/trust.pem is the file of the password of certificates[1].files[3]",
        "trustBundles[1]: /d/trust.p12 is the file of the password of trustBundles[1]",
        "certificates[0].files[2]: /d/token is the file of the bootstrap token",
        "certificates[0].files[3]: /d/ca.pem is the file of the server's CA",
        "certificates[1].files[0]: /d/one.pem is the file of certificates[0].files[0]",
        "certificates[1].files[1]: /d/tls is the file of certificates[0].files[1]",
        "certificates[1].files[2]: /d/tls/tls.crt is the file of certificates[0].files[1]",
        "certificates[1].files[3]: /d/trust.pem is the file of the password of certificates[1].files[3]",
      ]);
      return true;
    },
  );
});

test("a repeated field is refused, and a reference to another part of the file is read as that part", () => {
  assert.throws(() => parseAgentConfiguration(`${header}nodeName: a\nnodeName: b\n`, "/"), /has a field twice/);
  assert.throws(
    () => parseAgentConfiguration(`${header}dnsNames: &names [a]\nservers: *names\n`, "/"),
    /servers\[0\]: "a" is not a URL/,
  );
});

test("any configuration file is either read or refused with an error for people", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      assert.throws(
        () => parseAgentConfiguration(text, "/"),
        (error) => error instanceof Error && !(error instanceof TypeError),
      );
    }),
  );
});

test("the times of a configuration file are refused when they are too short or too long", () => {
  for (const [lifetime, duration] of [
    ["9m", "9s"],
    ["24856d", "25h"],
  ]) {
    const times = `certificateLifetime: ${lifetime}\nleaseDuration: ${duration}\n`;
    assert.throws(() => parseAgentConfiguration(`${header}\n${times}`, "/"), {
      message: /certificateLifetime: must be .* from 10m to 24855d; leaseDuration: must be .* from 10s to 24h/,
    });
  }
});

test("the password of a store is read when it is needed, and refused unless Java takes it and no other user can read it", () => {
  const folder = temporaryFolder();
  const file = join(folder, "password");
  const [{ outputs } = assert.fail()] = parseAgentConfiguration(everything, folder).certificates;
  const store = outputs[2];
  assert.ok(store !== undefined && "password" in store);
  assert.throws(store.password, { name: "UnusableFile", message: /the password file is missing$/ });
  for (const refused of ["short", "p\u00e4ssword", "two\nlines", "x".repeat(129)]) {
    writeFileSync(file, refused, { mode: 0o600 });
    assert.throws(store.password, { name: "UnusableFile", message: /6 to 128 visible ASCII characters$/ }, refused);
  }
  for (const taken of ["sixsix", "x".repeat(128)]) {
    writeFileSync(file, `${taken}\n`);
    assert.equal(store.password(), taken);
  }
  chmodSync(file, 0o644);
  assert.throws(store.password, { name: "UnusableFile", message: /open to other users/ });
});
