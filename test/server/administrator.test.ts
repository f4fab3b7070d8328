import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import type { Certificate } from "../../src/pki/certificate.ts";
import { createCertificateAuthority } from "../../src/pki/certificate-authority.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";
import { writeAdminKubeconfig } from "../../src/server/administrator.ts";
import { startOf2026 } from "../features/access/certificate-scene.ts";

const hour = 3_600_000;
const week = 168 * hour;
const folder = mkdtempSync(join(tmpdir(), "signet-administrator-"));
after(() => rmSync(folder, { recursive: true }));

let now = startOf2026;
const authority = {
  ...createCertificateAuthority({
    subject: { commonName: "administrators" },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore: startOf2026,
    notAfter: startOf2026 + 104 * week,
  }),
};
interface Asked {
  readonly lifetimeMilliseconds?: number;
  readonly isRevoked?: (certificate: Certificate) => boolean;
}
const written = ({ lifetimeMilliseconds = week, isRevoked = () => false }: Asked = {}): Certificate => {
  const { file, certificate } = writeAdminKubeconfig({
    dataDirectory: folder,
    authority: () => authority,
    clock: { now: () => now },
    server: "https://127.0.0.1:6443",
    caCertificates: () => "",
    lifetimeMilliseconds,
    isRevoked,
  });
  assert.ok(certificate);
  const shown = /client-certificate-data: (\S+)/.exec(readFileSync(file, "utf8"))?.[1] ?? "";
  assert.ok(Buffer.from(shown, "base64").toString().includes(certificate.der.toString("base64").slice(0, 60)));
  return certificate;
};

it("a kubeconfig of the administrator keeps its certificate for half of its life, then gets the next", () => {
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

it("a revoked certificate is replaced, but not while its successor would be revoked too", () => {
  const first = written();
  assert.deepEqual(written({ isRevoked: () => true }).der, first.der);
  assert.notDeepEqual(written({ isRevoked: ({ der }) => der.equals(first.der) }).der, first.der);
});

it("a certificate that ends with its CA is kept: a new one would not live longer", () => {
  now = authority.certificate.notAfter - 2 * hour;
  const last = written();
  assert.equal(last.notAfter, authority.certificate.notAfter);
  now += hour;
  assert.deepEqual(written().der, last.der);
});
