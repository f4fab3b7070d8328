import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseKubeconfig, readKubeconfig } from "../../../../src/machinery/client/kubeconfig/kubeconfig.ts";
import { KubeconfigError } from "../../../../src/machinery/client/kubeconfig/kubeconfig-error.ts";
import { formatKubeconfig } from "../../../../src/machinery/client/kubeconfig/new-kubeconfig.ts";
import { issueTestCertificates } from "../../storage/etcd/etcd-certificates.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const pem = (content: string): string => `-----BEGIN ${content}-----`;

const certificateUser = formatKubeconfig({
  server: "https://127.0.0.1:6443",
  caCertificates: pem("CA"),
  user: "admin",
  namespace: "team",
  credentials: { type: "certificate", certificate: pem("CERT"), key: pem("KEY") },
});

test("a kubeconfig that was written is read back unchanged", () => {
  assert.deepEqual(parseKubeconfig(certificateUser, { path: "x" }), {
    files: ["x"],
    namespace: "team",
    transport: {
      server: "https://127.0.0.1:6443",
      caCertificates: pem("CA"),
      clientCertificate: { certificate: pem("CERT"), key: pem("KEY") },
    },
  });
});

test("a token in a kubeconfig is sent with every request", () => {
  const text = formatKubeconfig({
    server: "https://h",
    caCertificates: pem("CA"),
    user: "u",
    credentials: { type: "token", token: "secret" },
  });
  const { transport, namespace } = parseKubeconfig(text, { path: "x" });
  assert.equal(transport.bearerToken?.(), "secret");
  assert.equal(namespace, "default");
});

test("a kubeconfig that can't be used is refused with its file's name and the missing part", () => {
  const refusals: [string, RegExp][] = [
    ["b: c\na: [", /kubeconfig x is not YAML \(line 2\); correct it/],
    ["a: b\n---\na: b", /kubeconfig x holds several documents, with --- between them \(line 2\); leave one/],
    ["a: b\nc: d\na: b", /kubeconfig x has a field twice \(line 3\); remove one/],
    ["a: *b", /kubeconfig x is not YAML/],
    ["{}", /kubeconfig x has no contexts; name another file$/],
    ["contexts: [{name: a, context: {}}]", /kubeconfig x has no current-context; choose one with --context/],
    ["current-context: a", /kubeconfig x has no context "a"/],
    ["current-context: a\ncontexts: [{name: a, context: {cluster: c}}]", /kubeconfig x has no cluster "c"/],
    [
      "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\nclusters: [{name: c, cluster: {}}]",
      /kubeconfig x: the cluster has no server/,
    ],
    ["- 1", /kubeconfig x holds no clusters, users and contexts/],
    ["users: [{name: u}, {name: v}, {name: u}]", /kubeconfig x has several users named "u"; remove all but one/],
  ];
  for (const [text, message] of refusals) {
    assert.throws(
      () => parseKubeconfig(text, { path: "x" }),
      (error) => error instanceof KubeconfigError && message.test(error.message),
      text,
    );
  }
});

test("a kubeconfig may use aliases and <<, as kubectl's may", () => {
  const text = `
clusters:
- {name: a, cluster: &a {server: "https://a"}}
- {name: b, cluster: *a}
- {name: c, cluster: {<<: *a, tls-server-name: c.example}}
users: [{name: u, user: {token: secret}}]
contexts: [{name: b, context: {cluster: b, user: u}}, {name: c, context: {cluster: c, user: u}}]
`;
  for (const context of ["b", "c"]) {
    assert.equal(parseKubeconfig(text, { path: "x", context }).transport.server, "https://a", context);
  }
});

const inline = (user: string, cluster = "server: https://h"): string =>
  `{current-context: a, contexts: [{name: a, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {${cluster}}}], users: [{name: u, user: {${user}}}]}`;

test("the error for a kubeconfig lists its contexts, and names an unknown login method or a value that is not a URL or PEM", () => {
  const refusals: [string, RegExp][] = [
    [inline("exec: {command: x}"), /user "u" logs in by exec, which signet cannot do; give --token/],
    [inline("username: x, password: y"), /logs in by username/],
    [inline("client-certificate-data: QQ=="), /user "u" has no client-key; certificate and key go together/],
    [inline("", "server: 'http://h'"), /the server "http:\/\/h" is not a URL such as https/],
    [inline("", "server: 'nonsense'"), /is not a URL/],
    [inline("", "server: 'https://h', certificate-authority-data: QQ=="), /certificate-authority-data is not PEM text/],
    [
      inline("", "server: 'https://h', certificate-authority: /nowhere/ca"),
      /names \/nowhere\/ca, which cannot be read/,
    ],
    [inline("").replace("current-context: a", "current-context: b"), /has no context "b"; it has a$/],
  ];
  for (const [text, message] of refusals) {
    assert.throws(
      () => parseKubeconfig(text, { path: "x" }),
      (error) => error instanceof KubeconfigError && message.test(error.message),
      text,
    );
  }
  const { bearerToken } = parseKubeconfig(inline('token: "a\\nb"'), { path: "x" }).transport;
  assert.throws(() => bearerToken?.(), /the user's token is empty, or has spaces or line breaks/);
});

test("a kubeconfig that names a CA, but leaves the server unverified, is refused", () => {
  const cluster = `server: https://h, certificate-authority-data: ${Buffer.from(pem("CA")).toString("base64")}`;
  const read = (flag: string) =>
    parseKubeconfig(inline("token: t", `${cluster}, insecure-skip-tls-verify: ${flag}`), { path: "x" });
  assert.throws(() => read("true"), {
    name: "KubeconfigError",
    message:
      /^kubeconfig x: the cluster has a certificate-authority, but insecure-skip-tls-verify: true .*; remove one/,
  });
  assert.equal(read("false").transport.skipsServerVerification, undefined);
});

test("whom a kubeconfig's user acts as is said with every request", () => {
  const acting = `as: Zoë, as-uid: "7", as-groups: [a, b], as-user-extra: {example.com/Team(1): [x, y]}`;
  assert.deepEqual(parseKubeconfig(inline(acting), { path: "x" }).transport.headers, {
    "impersonate-user": "Zo\u00c3\u00ab",
    "impersonate-uid": "7",
    "impersonate-group": ["a", "b"],
    "impersonate-extra-example.com%2FTeam%281%29": ["x", "y"],
  });
  assert.equal(parseKubeconfig(inline("token: t"), { path: "x" }).transport.headers, undefined);
});

test("a kubeconfig that says wrongly whom its user acts as is refused, and not used with the user's own rights", () => {
  for (const acting of [
    "as: {a: b}",
    'as: "a\\r\\nEvil: 1"',
    "as-groups: [a]",
    'as: "", as-uid: u',
    "as: a, as-groups: b",
    "as: a, as-groups: [1]",
    "as: a, as-uid: 5",
    "as: a, as-user-extra: [b]",
    "as: a, as-user-extra: {b: c}",
  ]) {
    assert.throws(() => parseKubeconfig(inline(acting), { path: "x" }), /user "u" acts as another user, but /, acting);
  }
});

test("a password in the URL of a kubeconfig's server is refused without being shown", () => {
  const refusals = { "https://u:secret@h": /has a user or a password/, "https://u:secret@h h": /is not a URL/ };
  for (const [url, message] of Object.entries(refusals)) {
    assert.throws(
      () => parseKubeconfig(inline("", `server: '${url}'`), { path: "x" }),
      (error) => error instanceof KubeconfigError && message.test(error.message) && !/secret/.test(error.message),
    );
  }
});

test("a kubeconfig's proxy is used, and refused without being shown when it is none that Signet speaks to", () => {
  const through = (proxy: string): string =>
    certificateUser.replace("cluster:\n", `cluster:\n      proxy-url: ${proxy}\n`);
  const { transport } = parseKubeconfig(through("http://proxy.example.com:3128"), { path: "x" });
  assert.equal(transport.proxyUrl, "http://proxy.example.com:3128");
  for (const wrong of ["socks5://user:secret@proxy.example.com", "proxy secret"]) {
    assert.throws(
      () => parseKubeconfig(through(wrong), { path: "x" }),
      (error) =>
        error instanceof KubeconfigError &&
        /kubeconfig x: the cluster's proxy-url does not begin with http/.test(error.message) &&
        !/secret/.test(error.message),
    );
  }
});

test("the files of $KUBECONFIG are merged: the first one with a value wins, and missing files are ignored", (context) => {
  const folder = temporaryFolder();
  const before = process.env["KUBECONFIG"];
  context.after(() => {
    if (before === undefined) delete process.env["KUBECONFIG"];
    else process.env["KUBECONFIG"] = before;
  });
  const files = {
    first: "{current-context: a, contexts: [{name: a, context: {cluster: c, user: u}}]}",
    second: "{current-context: b, users: [{name: u, user: {tokenFile: token}}]}",
    third: "{clusters: [{name: c, cluster: {server: https://h}}], users: [{name: u, user: {token: other}}]}",
    token: "secret\n",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  process.env["KUBECONFIG"] = ["missing", "first", "second", "third"].map((name) => join(folder, name)).join(":");
  const { transport } = readKubeconfig();
  assert.deepEqual([transport.server, transport.bearerToken?.()], ["https://h", "secret"]);
  process.env["KUBECONFIG"] = join(folder, "missing");
  assert.throws(() => readKubeconfig(), /^KubeconfigError: there is no kubeconfig: .*missing does not exist/);
  // Something that the system refuses, as a file in a folder of another user.
  symlinkSync("loop", join(folder, "loop"));
  process.env["KUBECONFIG"] = ["loop", "first"].map((name) => join(folder, name)).join(":");
  assert.throws(() => readKubeconfig(), /^KubeconfigError: cannot read kubeconfig .*loop: /);
});

test("a kubeconfig is read in UTF-16 too, as Windows PowerShell writes what a command prints", () => {
  const folder = temporaryFolder();
  const file = join(folder, "config");
  const littleEndian = Buffer.from(`\ufeff${inline("token: ü")}`, "utf16le");
  for (const bytes of [littleEndian, Buffer.from(littleEndian).swap16(), Buffer.from(`\ufeff${inline("token: ü")}`)]) {
    writeFileSync(file, bytes);
    assert.equal(readKubeconfig({ file }).transport.server, "https://h");
  }
});

test("another context than the current one can be chosen", () => {
  const text = certificateUser.replace("current-context: signet", "current-context: other");
  assert.equal(parseKubeconfig(text, { path: "x", context: "signet" }).namespace, "team");
});

test("a kubeconfig that is followed is refused while its CA is half written, or only one of a certificate and its key is new", () => {
  const folder = temporaryFolder();
  const file = join(folder, "config");
  const cluster = "server: https://h, certificate-authority: ca.crt";
  writeFileSync(file, inline("client-certificate: client.crt, client-key: client.key", cluster));
  const write = (name: string, pem: string): void => writeFileSync(join(folder, name), pem);
  const read = (): unknown => readKubeconfig({ file, isFollowed: true, hasFlags: false }).transport.clientCertificate;
  const [old, renewed] = [issueTestCertificates(), issueTestCertificates()];
  write("ca.crt", renewed["ca.crt"]);
  write("client.crt", renewed["client.crt"]);
  write("client.key", old["client.key"]);
  assert.throws(read, {
    name: "KubeconfigError",
    message: /: the user's client certificate and key cannot be used; write those of one pair: .*key values mismatch/,
  });
  // TLS would log in as nobody with these two.
  write("client.key", generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }));
  assert.throws(read, /write those of one pair: key values mismatch/);
  assert.throws(() => readKubeconfig({ file }), /write those of one pair: key values mismatch/);
  write("client.key", renewed["client.key"]);
  assert.deepEqual(read(), { certificate: renewed["client.crt"], key: renewed["client.key"] });
  for (const before of ["", old["ca.crt"]]) {
    for (const octets of [90, -10]) {
      write("ca.crt", before + renewed["ca.crt"].slice(0, octets));
      assert.throws(read, {
        name: "KubeconfigError",
        message: /: the certificate of the cluster's CA cannot be read; write/,
      });
    }
  }
  write("ca.crt", `old:\r\n${old["ca.crt"].replaceAll("\n", "\r\n")}${renewed["ca.crt"]}\n# two CAs`);
  assert.deepEqual(read(), { certificate: renewed["client.crt"], key: renewed["client.key"] });
});
