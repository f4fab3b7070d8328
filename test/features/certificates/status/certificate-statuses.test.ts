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
import { parseCertificate } from "../../../../src/pki/certificates/certificate.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../../src/pki/pem.ts";
import { newAuthority } from "../certificate-loop-scene.ts";
import { newCertificate, oneHour, startOf2026 } from "../../access/certificate-scene.ts";

const authority = () =>
  createCertificateAuthority({
    subject: { commonName: "the name of both" },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore: startOf2026,
    notAfter: startOf2026 + oneHour,
  });

async function openStatuses() {
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
  const { group, kind } = records.definition;
  return {
    statuses,
    async record(object: ReturnType<typeof certificateRecord>): Promise<void> {
      await createObject(records, {
        namespace: "",
        object: { apiVersion: `${group}/v1`, kind, ...object },
        manager: "test",
        caller: {
          user: { username: "anyone", groups: [], extra: {} },
          isDryRun: false,
          signal: new AbortController().signal,
          warn: () => {},
        },
      });
      await records.waitForRevision(store.latestRevision());
      await statuses.ready();
    },
  };
}

const request = { metadata: {}, spec: { signerName: "example.com/signer" } };

test("a certificate is not known of a CA that has only the name of the one that signed it", async () => {
  const { statuses, record } = await openStatuses();
  const [earlier, later] = [authority(), authority()];
  const certificate = parseCertificate(newCertificate(earlier).raw);
  const text = Buffer.from(encodePem("CERTIFICATE", certificate.der)).toString("base64");
  await record(certificateRecord({ recordName: "one", certificate, request, text }));
  assert.deepEqual(statuses.of(earlier.certificate, certificate.serialNumber), { type: "good" });
  assert.deepEqual(statuses.of(later.certificate, certificate.serialNumber), { type: "unknown" });

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

test("a certificate whose record has no text is known of the CAs of its issuer's name alone, by its positive number", async () => {
  const { statuses, record } = await openStatuses();
  const [issuer, other] = [authority(), newAuthority("another")];
  const certificate = parseCertificate(newCertificate(issuer).raw);
  const recorded = certificateRecord({ recordName: "one", certificate, request });
  await record({ ...recorded, spec: { ...recorded.spec, serialNumber: "80" } });
  assert.deepEqual(statuses.of(issuer.certificate, Buffer.of(0, 0x80)), { type: "good" });
  assert.deepEqual(statuses.of(other.certificate, Buffer.of(0, 0x80)), { type: "unknown" });
  assert.deepEqual(statuses.of(issuer.certificate, Buffer.of(0x80)), { type: "unknown" }, "this is -128");
});
