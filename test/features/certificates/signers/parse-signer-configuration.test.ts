import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import { stringify } from "yaml";
import { parseSignerConfiguration } from "../../../../src/features/certificates/signers/parse-signer-configuration.ts";
import { settingsFaults } from "../../../machinery/command-line/settings/settings-faults.ts";
import { withUnknownFields } from "../../../machinery/command-line/with-unknown-fields.ts";

const signer = {
  name: "example.com/services",
  certificateAuthority: { generate: { commonName: "Example CA" } },
  dnsNames: ["*.services.example.com"],
};
const header = { apiVersion: "signet.platform.io/v1", kind: "SignerConfiguration" };

const parsed = (document: unknown) =>
  parseSignerConfiguration(
    typeof document === "string" ? document : stringify(document, { aliasDuplicateObjects: false }),
    "/etc/signet/signers.yaml",
  );
const faultsOf = (document: unknown): readonly string[] => settingsFaults(() => parsed(document));
const withSigners = (...signers: readonly object[]): object => ({ ...header, signers });
const faultsOfSigner = (fields: object): readonly string[] => faultsOf(withSigners({ ...signer, ...fields }));

describe("the signer configuration", () => {
  it("reads the file that is given as an example", () => {
    const file = resolve(import.meta.dirname, "../../../../examples/signers.yaml");
    const signers = parseSignerConfiguration(readFileSync(file, "utf8"), file);
    assert.deepEqual(
      signers.map(({ name }) => name),
      ["example.com/services", "example.com/workloads"],
    );
  });

  it("shows the examples in the documentation as they are", () => {
    const root = resolve(import.meta.dirname, "../../../..");
    const text = readFileSync(resolve(root, "docs/signers.md"), "utf8");
    for (const file of ["signers.yaml", "approve-services.yaml"]) {
      assert.ok(text.includes(`\`\`\`yaml\n${readFileSync(resolve(root, "examples", file), "utf8")}\`\`\``), file);
    }
  });

  it("uses safe defaults for omitted fields", () => {
    const [read] = parsed(withSigners(signer));
    assert.deepEqual(read?.usages, ["digital signature", "key encipherment", "server auth"]);
    assert.deepEqual(read?.keyTypes, ["ECDSA P-256", "ECDSA P-384", "ECDSA P-521", "Ed25519", "RSA 2048"]);
    assert.deepEqual(read?.lifetime, { maximumSeconds: 7_776_000, defaultSeconds: 7_776_000 });
    assert.deepEqual(
      [read?.commonNames, read?.organizations, read?.ipRanges, read?.emailAddresses, read?.uris],
      [undefined, undefined, undefined, undefined, undefined],
    );
  });

  it("signs for ten minutes to thirty years, but for no longer than its generated CA", () => {
    const lifetimes = (maximumLifetime: string, lifetime: string): readonly string[] =>
      faultsOfSigner({ maximumLifetime, certificateAuthority: { generate: { commonName: "Example CA", lifetime } } });
    for (const longest of ["10m", "262800h"]) assert.deepEqual(lifetimes(longest, longest), [], longest);
    for (const wrong of ["599s", "262801h"]) {
      const range = "must be a duration such as 720h, from 10m to 262800h (30 years)";
      assert.equal(lifetimes(wrong, "262800h")[0], `signers[0].maximumLifetime: ${range}`);
      assert.equal(lifetimes("10m", wrong)[0], `signers[0].certificateAuthority.generate.lifetime: ${range}`);
    }
    assert.deepEqual(lifetimes("721h", "720h"), [
      "signers[0].maximumLifetime: must not be longer than certificateAuthority.generate.lifetime",
    ]);
  });

  it("may sign common names only, but not nothing: an empty list allows no name", () => {
    assert.deepEqual(faultsOfSigner({ dnsNames: undefined, subject: { commonNames: ["a"] } }), []);
    for (const none of [{ dnsNames: [] }, { dnsNames: undefined, subject: { commonNames: [], organizations: ["a"] } }])
      assert.match(faultsOfSigner(none).join(), /^signers\[0\]\.dnsNames: is required: set the names/);
  });

  it("has a generated CA with a name of at most 64 characters, and no file besides", () => {
    const generate = (commonName: string, more: object = {}): readonly string[] =>
      faultsOfSigner({ certificateAuthority: { generate: { commonName }, ...more } });
    assert.deepEqual(generate("a".repeat(64)), []);
    for (const name of ["a".repeat(65), " ", "CA\u007f", "Zoë"])
      assert.match(generate(name).join(), /generate\.commonName: must be 1 to 64 visible ASCII characters$/, name);
    for (const file of ["certificateFile", "keyFile"])
      assert.match(generate("a", { [file]: "a" }).join(), /generate: cannot be combined with/, file);
  });

  it("has as many signers as the documentation says", () => {
    const signers = (count: number) =>
      withSigners(...Array.from({ length: count }, (_, at) => ({ ...signer, name: `example.com/s${at}` })));
    assert.deepEqual(faultsOf(signers(100)), []);
    assert.deepEqual(faultsOf(signers(101)), ["signers: must have at most 100 entries"]);
  });

  it("allows a URI of one host, by its name or address", () => {
    assert.deepEqual(faultsOfSigner({ uris: ["https://10.0.0.1:443/*", "spiffe://*.example.com:443/*", "urn:*"] }), []);
  });

  it("keeps the URI of a key in a PKCS #11 token as it is", () => {
    const certificateAuthority = { certificateFile: "ca.crt", keyFile: "pkcs11:token=ca;object=key" };
    const [read] = parsed(withSigners({ ...signer, certificateAuthority }));
    assert.deepEqual(read?.certificateAuthority, {
      type: "files",
      certificateFile: "/etc/signet/ca.crt",
      keyFile: "pkcs11:token=ca;object=key",
    });
  });

  it("finds CA files beside itself", () => {
    for (const [keyFile, found] of [
      ["../keys/ca.key", "/etc/keys/ca.key"],
      ["/run/keys/ca.key", "/run/keys/ca.key"],
    ]) {
      const certificateAuthority = { certificateFile: "ca.crt", keyFile };
      const [read] = parsed(withSigners({ ...signer, certificateAuthority }));
      assert.deepEqual(read?.certificateAuthority, {
        type: "files",
        certificateFile: "/etc/signet/ca.crt",
        keyFile: found,
      });
    }
  });

  const wrongSigners: readonly [string, object, RegExp][] = [
    ["no name", { name: undefined }, /^signers\[0\]\.name: is required/],
    ["a name without a domain", { name: "services" }, /^signers\[0\]\.name: Invalid value: "services"/],
    ["a name that leads out of a folder", { name: "example.com/../../etc/passwd" }, /^signers\[0\]\.name: Invalid/],
    ["a name of dots", { name: "example.com/.." }, /^signers\[0\]\.name: Invalid/],
    ["a domain of dots", { name: "../x" }, /^signers\[0\]\.name: Invalid/],
    ["a name with a NUL", { name: "example.com/a\u0000b" }, /^signers\[0\]\.name: Invalid/],
    ["a name with a colon", { name: "example.com/a:b" }, /^signers\[0\]\.name: Invalid/],
    ["a name in upper case", { name: "Example.com/a" }, /^signers\[0\]\.name: Invalid/],
    [
      "a name that no file can have",
      { name: `example.com/${"a".repeat(250)}` },
      /^signers\[0\]\.name: must have at most 200 characters/,
    ],
    [
      "a name of the server's",
      { name: "platform.io/services" },
      /^signers\[0\]\.name: platform\.io is reserved for the server's/,
    ],
    [
      "a name of the other profile's",
      { name: "kubernetes.io/kube-apiserver-client" },
      /^signers\[0\]\.name: kubernetes\.io/,
    ],
    ["a name of upstream's groups", { name: "storage.k8s.io/a" }, /^signers\[0\]\.name: k8s\.io is reserved/],
    ["a name below a reserved domain", { name: "x.signet.platform.io/a" }, /^signers\[0\]\.name: platform\.io/],
    ["a name that is a list", { name: ["a"] }, /^signers\[0\]\.name: must be a string/],
    ["no CA", { certificateAuthority: undefined }, /^signers\[0\]\.certificateAuthority\.certificateFile: is required/],
    [
      "half a CA",
      { certificateAuthority: { certificateFile: "a" } },
      /^signers\[0\]\.certificateAuthority\.keyFile: is required/,
    ],
    [
      "two CAs",
      { certificateAuthority: { certificateFile: "a", keyFile: "b", generate: { commonName: "a" } } },
      /^signers\[0\]\.certificateAuthority\.generate: cannot be combined with/,
    ],
    [
      "a CA without a name",
      { certificateAuthority: { generate: {} } },
      /^signers\[0\]\.certificateAuthority\.generate\.commonName: must be 1 to 64/,
    ],
    [
      "a CA that lives for no time",
      { certificateAuthority: { generate: { commonName: "a", lifetime: "1s" } } },
      /^signers\[0\]\.certificateAuthority\.generate\.lifetime: must be a duration/,
    ],
    [
      "a field of the CA that there is not",
      { certificateAuthority: { generate: { commonName: "a", keyType: "RSA" } } },
      /^signers\[0\]\.certificateAuthority\.generate\.keyType: unknown field/,
    ],
    ["a subject that is a list", { subject: [] }, /^signers\[0\]\.subject: must be a mapping/],
    ["a common name that is a number", { subject: { commonNames: [1] } }, /^signers\[0\]\.subject\.commonNames\[0\]/],
    [
      "an organization that is a number",
      { subject: { organizations: ["", 1] } },
      /^signers\[0\]\.subject\.organizations\[1\]/,
    ],
    ["no names at all", { dnsNames: undefined }, /^signers\[0\]\.dnsNames: is required: set the names/],
    ["a DNS name with a blank", { dnsNames: ["a.b", "c.d", "a b.c"] }, /^signers\[0\]\.dnsNames\[2\]: must consist/],
    ["every DNS name", { dnsNames: ["**"] }, /^signers\[0\]\.dnsNames\[0\]: must end with a label without a wildcard/],
    ["every top domain", { dnsNames: ["www.*"] }, /^signers\[0\]\.dnsNames\[0\]: must end with a label/],
    [
      "a DNS name that is an address",
      { dnsNames: ["10.0.0.1"] },
      /^signers\[0\]\.dnsNames\[0\]: must not end in a number/,
    ],
    ["an invalid range", { ipRanges: ["10.0.0.0/33"] }, /^signers\[0\]\.ipRanges\[0\]: must be an IP address/],
    ["a URI without a scheme", { uris: ["//a/b"] }, /^signers\[0\]\.uris\[0\]: must be a URI/],
    ["a URI of every host", { uris: ["https://**/x"] }, /^signers\[0\]\.uris\[0\]: must end with a label/],
    ["every scheme", { uris: ["**"] }, /^signers\[0\]\.uris\[0\]: must be a URI/],
    [
      "a mail address without a domain",
      { emailAddresses: ["*"] },
      /^signers\[0\]\.emailAddresses\[0\]: must be an email address/,
    ],
    [
      "a mail address of nobody",
      { emailAddresses: ["@example.com"] },
      /^signers\[0\]\.emailAddresses\[0\]: must be an email address/,
    ],
    [
      "a mail address of two domains",
      { emailAddresses: ["a@b.com@example.com"] },
      /^signers\[0\]\.emailAddresses\[0\]: must be an email address/,
    ],
    [
      "a URL of revocation information that no client can fetch",
      { revocationURL: "ldap://example.com" },
      /^signers\[0\]\.revocationURL: must be a URL such as http:\/\/pki\.example\.com, .*, or empty$/,
    ],
    ["an address that is a number", { ipRanges: [10] }, /^signers\[0\]\.ipRanges\[0\]: must be an IP address/],
    ["every mail address", { emailAddresses: ["*@**"] }, /^signers\[0\]\.emailAddresses\[0\]: must end with a label/],
    [
      "a usage that there is not",
      { usages: ["server auth", "fly"] },
      /^signers\[0\]\.usages\[1\]: unknown usage "fly"/,
    ],
    [
      "a CA's usage",
      { usages: ["server auth", "cert sign"] },
      /^signers\[0\]\.usages\[1\]: cert sign is only for CA certificates/,
    ],
    ["every usage", { usages: ["any"] }, /^signers\[0\]\.usages\[0\]: any is only for CA certificates/],
    [
      "usages for no purpose",
      { usages: ["digital signature"] },
      /^signers\[0\]\.usages: must contain an extended key usage/,
    ],
    ["a small key", { keyTypes: ["RSA 1024"] }, /^signers\[0\]\.keyTypes\[0\]: must be one of ECDSA P-256,/],
    ["no key", { keyTypes: [] }, /^signers\[0\]\.keyTypes: must have at least one entry/],
    ["a lifetime without a unit", { maximumLifetime: 3600 }, /^signers\[0\]\.maximumLifetime: must be a string/],
    ["a lifetime of ages", { maximumLifetime: "9999999h" }, /^signers\[0\]\.maximumLifetime: must be a duration/],
    [
      "a usual lifetime beyond the longest",
      { maximumLifetime: "1h", defaultLifetime: "2h" },
      /^signers\[0\]\.defaultLifetime: must not be longer/,
    ],
    ["a lifetime beyond the CA's", { maximumLifetime: "90000h" }, /^signers\[0\]\.maximumLifetime: must not be longer/],
    ["a misspelt field", { dnsName: ["a.b"] }, /^signers\[0\]\.dnsName: unknown field/],
    ["too long a list", { dnsNames: Array(101).fill("a.b") }, /^signers\[0\]\.dnsNames: must have at most 100 entries/],
  ];
  for (const [what, fields, wanted] of wrongSigners) {
    it(`names the field of ${what}`, () => {
      const faults = faultsOfSigner(fields);
      assert.ok(
        faults.some((fault) => wanted.test(fault)),
        faults.join("\n") || "no faults",
      );
    });
  }

  it("refuses a field that there is not, wherever it is", () => {
    const files = { certificateFile: "ca.crt", keyFile: "ca.key" };
    const subject = { commonNames: ["*"], organizations: ["dev"] };
    const all = withSigners(
      { ...signer, subject },
      { ...signer, name: "example.com/files", certificateAuthority: files },
    );
    assert.deepEqual(faultsOf(all), []);
    for (const { path, content } of withUnknownFields(all))
      assert.deepEqual(faultsOf(content), [`${path}: unknown field`]);
  });

  it("names the fields of the file itself", () => {
    assert.match(faultsOf({ ...header, kind: "Signers", signers: [] }).join(), /^kind: must be SignerConfiguration$/);
    assert.match(faultsOf({ kind: header.kind, signers: [] }).join(), /^apiVersion: must be signet\.platform\.io\/v1$/);
    assert.match(faultsOf(header).join(), /^signers: is required: a list/);
    assert.match(faultsOf({ ...header, signers: [], more: 1 }).join(), /^more: unknown field$/);
    assert.match(faultsOf({ ...header, signers: ["a"] }).join(), /^signers\[0\]: must be a mapping/);
    assert.deepEqual(faultsOf({ ...header, signers: [] }), []);
  });

  it("reports the index of an entry after other invalid ones", () => {
    const faults = faultsOfSigner({ dnsNames: [1, "a b.c"], usages: [1, "fly", "server auth"], keyTypes: [1, "DSA"] });
    for (const path of ["dnsNames[1]", "usages[1]", "keyTypes[1]"]) {
      assert.ok(
        faults.some((fault) => fault.startsWith(`signers[0].${path}: `)),
        path,
      );
    }
  });

  it("refuses duplicate names", () => {
    assert.deepEqual(faultsOf(withSigners(signer, signer)), [
      "signers[1].name: must be unique, but signers[0] has the same name",
    ]);
  });

  it("reports a limited number of faults, of limited length, that are safe for a terminal", () => {
    const many = faultsOf(withSigners(...Array.from({ length: 500 }, () => ({ name: "a" }))));
    assert.equal(many.length, 21);
    assert.match(many.at(-1) ?? "", /^and \d+ more$/);
    const [long = ""] = faultsOfSigner({ [`\u001b[2J${"x".repeat(100_000)}`]: 1 });
    assert.ok(long.length < 1000, String(long.length));
    assert.ok(!long.includes("\u001b"));
  });

  it("refuses hostile YAML", () => {
    for (const text of ["", "- a", "a: &a [*a]", "{".repeat(200_000), "a: 1\na: 2", "\u0000", "!!js/function x"]) {
      assert.notDeepEqual(faultsOf(text), [], JSON.stringify(text.slice(0, 20)));
    }
  });
});
