import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parse, stringify } from "yaml";
import type { Certificate } from "../../src/pki/certificates/certificate.ts";
import { createCertificateAuthority } from "../../src/pki/certificates/certificate-authority.ts";
import { generatePrivateKey } from "../../src/pki/keys/keys.ts";
import { writeAdminKubeconfig } from "../../src/server/administrator.ts";
import { startOf2026 } from "../features/access/certificate-scene.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const hour = 3_600_000;
const week = 168 * hour;
const folder = temporaryFolder();

let now = startOf2026;
const authority = {
  ...createCertificateAuthority({
    subject: { commonName: "administrators" },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore: startOf2026,
    notAfter: startOf2026 + 104 * week,
  }),
};
const kubeconfigFile = join(folder, "admin.kubeconfig");
interface Asked {
  readonly server?: string;
  readonly lifetimeMilliseconds?: number;
  readonly isRevoked?: (certificate: Certificate) => boolean;
}
const written = ({
  server = "https://127.0.0.1:6443",
  lifetimeMilliseconds = week,
  isRevoked = () => false,
}: Asked = {}): Certificate => {
  const { file, certificate } = writeAdminKubeconfig({
    dataDirectory: folder,
    authority: () => authority,
    clock: { now: () => now },
    server,
    caCertificates: () => "PEM of the CAs",
    lifetimeMilliseconds,
    isRevoked,
    revocation: undefined,
  });
  assert.ok(certificate);
  const shown = /client-certificate-data: (\S+)/.exec(readFileSync(file, "utf8"))?.[1] ?? "";
  assert.ok(Buffer.from(shown, "base64").toString().includes(certificate.der.toString("base64").slice(0, 60)));
  return certificate;
};

it("the administrator's kubeconfig keeps its certificate for half of its lifetime, then gets the next", () => {
  const first = written();
  assert.equal(first.notAfter, now + week);
  now += week / 2 - hour;
  assert.deepEqual(written().der, first.der);
  now += 2 * hour;
  const second = written();
  assert.notDeepEqual(second.der, first.der);
  assert.equal(second.notAfter, now + week);
});

it("a certificate that is valid for longer than the setting says is replaced, as those of earlier versions were", () => {
  const year = written({ lifetimeMilliseconds: 52 * week });
  assert.equal(year.notAfter, now + 52 * week);
  assert.equal(written().notAfter, now + week);
});

it("a certificate that is not valid yet, because the clock was ahead, is replaced, and the next is kept", () => {
  const right = now;
  now += 24 * hour;
  const early = written({ lifetimeMilliseconds: week / 2 + hour });
  now = right;
  assert.ok(early.notBefore > now);
  const next = written();
  assert.ok(next.notBefore <= now);
  assert.deepEqual(written().der, next.der);
});

it("a revoked certificate is replaced, but not while its successor would be revoked too", () => {
  const first = written();
  assert.deepEqual(written({ isRevoked: () => true }).der, first.der);
  assert.notDeepEqual(written({ isRevoked: ({ der }) => der.equals(first.der) }).der, first.der);
});

describe("a user's changes of the administrator's kubeconfig", () => {
  const read = () => parse(readFileSync(kubeconfigFile, "utf8"));
  const write = (contents: string): void => writeFileSync(kubeconfigFile, contents, { mode: 0o600 });
  /** Kubectl sorts the fields and the entries. */
  const asKubectlWrites = (contents: unknown): string => stringify(contents, { sortMapEntries: true });
  const other = { cluster: { server: "https://other" }, context: { cluster: "other", user: "other" } };

  it("stay, and the file is not even written, while the server's own part is right", () => {
    written();
    const mine = read();
    mine.clusters.unshift({ name: "other", cluster: other.cluster });
    mine.users.unshift({ name: "other", user: { token: "theirs" } });
    mine.contexts[0].context.namespace = "team";
    mine.contexts.unshift({ name: "other", context: other.context });
    mine["current-context"] = "other";
    mine.preferences = { colors: true };
    const text = `# mine\n${asKubectlWrites(mine)}`;
    write(text);
    const { ino } = statSync(kubeconfigFile);
    written();
    assert.equal(readFileSync(kubeconfigFile, "utf8"), text);
    assert.equal(statSync(kubeconfigFile).ino, ino);
  });

  it("stay when server and certificate change, which alone are replaced", () => {
    const before = read();
    const first = written();
    written({ server: "https://127.0.0.1:7443", isRevoked: ({ der }) => der.equals(first.der) });
    const now = read();
    const { "client-certificate-data": certificate, "client-key-data": key } = now.users[1].user;
    assert.notEqual(certificate, before.users[1].user["client-certificate-data"]);
    assert.notEqual(key, before.users[1].user["client-key-data"]);
    before.users[1].user = now.users[1].user;
    before.clusters[1].cluster.server = "https://127.0.0.1:7443";
    assert.deepEqual(now, before);
    assert.match(readFileSync(kubeconfigFile, "utf8"), /^# mine\n/);
    assert.equal(statSync(kubeconfigFile).mode & 0o777, 0o600);
  });

  it("are lost where they replace the server's CA, certificate or key", () => {
    written();
    const right = read();
    const changed = read();
    changed.clusters[1].cluster = { ...other.cluster, "insecure-skip-tls-verify": true };
    changed.users[1].user = { "client-certificate": "mine.crt", "client-key": "mine.key" };
    write(asKubectlWrites(changed));
    written();
    assert.deepEqual(read(), right);
  });

  it("stay when the context has another name, and removed entries come back", () => {
    written();
    const renamed = read();
    renamed.contexts[1].name = renamed["current-context"] = "prod";
    write(asKubectlWrites(renamed));
    written();
    assert.deepEqual(read(), renamed);
    write("apiVersion: v1\nkind: Config\nclusters: null\nusers: []\npreferences: {colors: true}\n");
    written();
    assert.deepEqual(read(), {
      ...renamed,
      clusters: [renamed.clusters[1]],
      users: [renamed.users[1]],
      contexts: [{ name: "signet", context: { cluster: "signet", user: "admin" } }],
      "current-context": "signet",
    });
  });

  it("stay where aliases share the server's part with others, which do not change with it", () => {
    rmSync(kubeconfigFile);
    written();
    const right = read();
    const [signet] = right.clusters;
    const copy = { name: "copy", cluster: signet.cluster };
    const text = stringify({ template: signet, ...right, clusters: [signet, copy] });
    assert.match(text, /clusters:\n  - \*\w+\n  - name: copy\n    cluster: \*/);
    write(text);
    written();
    assert.equal(readFileSync(kubeconfigFile, "utf8"), text);
    written({ server: "https://127.0.0.1:7443" });
    const changed = { ...signet, cluster: { ...signet.cluster, server: "https://127.0.0.1:7443" } };
    assert.deepEqual(read(), { template: signet, ...right, clusters: [changed, copy] });
  });

  it("are lost when the file is not a kubeconfig any more", () => {
    rmSync(kubeconfigFile);
    written();
    const whole = readFileSync(kubeconfigFile, "utf8");
    for (const broken of [
      "",
      "a: [",
      "- 1",
      "kind: Secret",
      "kind: Config\nclusters: 7",
      "kind: Config\nusers: &a [*a]",
    ]) {
      write(broken);
      written();
      assert.equal(readFileSync(kubeconfigFile, "utf8"), whole, broken);
    }
  });
});

it("a certificate that ends with its CA is kept: a new one would not be valid longer", () => {
  now = authority.certificate.notAfter - 2 * hour;
  const last = written();
  assert.equal(last.notAfter, authority.certificate.notAfter);
  now += hour;
  assert.deepEqual(written().der, last.der);
});
