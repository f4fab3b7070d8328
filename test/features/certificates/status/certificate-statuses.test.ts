import assert from "node:assert/strict";
import { test } from "node:test";
import { certificateRecord } from "../../../../src/features/certificates/inventory/certificate-record.ts";
import { issuedCertificates } from "../../../../src/features/certificates/inventory/issued-certificates.ts";
import { CertificateStatuses } from "../../../../src/features/certificates/status/certificate-statuses.ts";
import { revocations } from "../../../../src/features/revocation/revocations.ts";
import { systemClock } from "../../../../src/machinery/api/clock.ts";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import { createObject } from "../../../../src/machinery/registry/writes/create-object.ts";
import type { ResourceDefinition } from "../../../../src/machinery/registry/definition/resource-definition.ts";
import { ResourceRegistry } from "../../../../src/machinery/registry/resource-registry.ts";
import { MemoryStore } from "../../../../src/machinery/storage/backends/memory.ts";
import { ChangeFeed } from "../../../../src/machinery/storage/change-feed.ts";
import { createCertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import { fingerprintOf, parseCertificate, serialNumberHex } from "../../../../src/pki/certificates/certificate.ts";
import type { Certificate } from "../../../../src/pki/certificates/certificate.ts";
import { formatDistinguishedName } from "../../../../src/pki/names/distinguished-name.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../../src/pki/pem.ts";
import { newCertificate, oneHour, startOf2026 } from "../../access/certificate-scene.ts";

const authority = (commonName = "the name of both") =>
  createCertificateAuthority({
    subject: { commonName },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore: startOf2026,
    notAfter: startOf2026 + oneHour,
  });

type Recorded = Omit<Parameters<typeof certificateRecord>[0], "recordName" | "request">;

/** The statuses of a server with records of these certificates, and with these revocations. */
async function statusesOf(recorded: readonly Recorded[], ...revokedCertificates: readonly object[]) {
  const store = new MemoryStore();
  const feed = new ChangeFeed({ store });
  const registryOf = <T extends ApiObject>(definition: ResourceDefinition<T>): ResourceRegistry<T> =>
    new ResourceRegistry<T>({
      definition,
      store,
      feed,
      admission: () => [],
      clock: systemClock,
      maximumObjectBytes: Infinity,
      onWritten: () => {},
      onRefused: () => {},
    });
  const records = registryOf(issuedCertificates(names));
  const revoked = registryOf(revocations(names));
  await records.start();
  await revoked.start();
  const statuses = new CertificateStatuses({ records, revocations: revoked });
  const create = async <T extends ApiObject>(
    registry: ResourceRegistry<T>,
    objectOf: (type: { readonly apiVersion: string; readonly kind: string }) => T,
  ): Promise<void> => {
    const { group, kind } = registry.definition;
    await createObject(registry, {
      namespace: "",
      object: objectOf({ apiVersion: `${group}/v1`, kind }),
      manager: "test",
      caller: {
        user: { username: "anyone", groups: [], extra: {} },
        isDryRun: false,
        signal: new AbortController().signal,
        warn: () => {},
      },
    });
    await registry.waitForRevision(store.latestRevision());
  };
  for (const [index, one] of recorded.entries()) {
    const request = { metadata: {}, spec: { signerName: "example.com/signer" } };
    const record = certificateRecord({ recordName: `record-${index}`, request, ...one });
    await create(records, (type) => ({ ...type, ...record }));
  }
  for (const [index, certificate] of revokedCertificates.entries())
    await create(revoked, (type) => ({ ...type, metadata: { name: `revocation-${index}` }, spec: { certificate } }));
  await statuses.ready();
  return statuses;
}

const textOf = ({ der }: Certificate): string => Buffer.from(encodePem("CERTIFICATE", der)).toString("base64");

test("a certificate is not known of a CA that has only the name of the one that signed it", async () => {
  const [earlier, later] = [authority(), authority()];
  const certificate = parseCertificate(newCertificate(earlier).raw);
  const statuses = await statusesOf([{ certificate, text: textOf(certificate) }]);
  assert.deepEqual(statuses.of(earlier.certificate, certificate.serialNumber), { type: "good" });
  assert.deepEqual(statuses.of(later.certificate, certificate.serialNumber), { type: "unknown" });
  const renewed = { ...earlier.certificate, subjectKeyId: Buffer.from("its key under another identifier") };
  assert.deepEqual(statuses.of(renewed, certificate.serialNumber), { type: "good" });

  let keyReads = 0;
  const asked = {
    ...later.certificate,
    get publicKey() {
      keyReads++;
      return later.certificate.publicKey;
    },
  };
  assert.deepEqual(statuses.of(asked, certificate.serialNumber), { type: "unknown" });
  assert.equal(keyReads, 0, "the signature is checked once, however often strangers ask");
});

test("a certificate says nothing about that of another CA with its serial number, nor about a negative number", async () => {
  const [one, other, third] = [authority("one"), authority("other"), authority("third")];
  const serialNumber = Buffer.from("008001", "hex");
  const ofBoth = [one, other].map((issuer) => ({
    certificate: { ...parseCertificate(newCertificate(issuer).raw), serialNumber },
  }));
  const statuses = await statusesOf(ofBoth);
  for (const issuer of [one, other]) {
    assert.deepEqual(statuses.of(issuer.certificate, serialNumber), { type: "good" });
    assert.deepEqual(statuses.of(issuer.certificate, Buffer.from("8001", "hex")), { type: "unknown" });
  }
  assert.deepEqual(statuses.of(third.certificate, serialNumber), { type: "unknown" });
});

test("a certificate is revoked however a revocation names it, by its serial number also where it is not recorded", async () => {
  const issuer = authority();
  const certificate = parseCertificate(newCertificate(issuer).raw);
  const { serialNumber } = certificate;
  const fingerprint = fingerprintOf(certificate);
  const subject = formatDistinguishedName(certificate.subject);
  const bySerialNumber = {
    issuer: formatDistinguishedName(certificate.issuer),
    serialNumber: serialNumberHex(certificate),
  };
  const begin = (seconds: number): string => new Date(certificate.notBefore + seconds * 1000).toISOString();
  const typeOf = async (revoked: object, recorded: readonly Recorded[] = [{ certificate }]): Promise<string> =>
    (await statusesOf(recorded, revoked)).of(issuer.certificate, serialNumber).type;
  for (const revoked of [{ fingerprint }, { subject }, { subject, issuedBefore: begin(1) }, bySerialNumber])
    assert.equal(await typeOf(revoked), "revoked", JSON.stringify(revoked));
  for (const others of [
    ...[{ fingerprint: "0".repeat(64) }, { subject: "CN=other" }, { subject, issuedBefore: begin(0) }],
    ...[
      { ...bySerialNumber, issuer: "CN=other" },
      { ...bySerialNumber, serialNumber: "1" },
    ],
  ]) {
    assert.equal(await typeOf(others), "good", JSON.stringify(others));
  }
  assert.equal(await typeOf(bySerialNumber, []), "revoked");
  assert.equal(await typeOf({ fingerprint }, []), "unknown");
});
