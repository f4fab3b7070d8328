import assert from "node:assert/strict";
import { test } from "node:test";
import { authorityId } from "../../../../src/features/certificates/status/addresses.ts";
import { PublishedLists } from "../../../../src/features/certificates/status/published-lists.ts";
import { storedListName, storedListObjects } from "../../../../src/features/certificates/status/stored-list.ts";
import { configMaps } from "../../../../src/features/core/config-maps.ts";
import type { ConfigMap } from "../../../../src/features/core/config-maps.ts";
import { systemClock } from "../../../../src/machinery/api/clock.ts";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { createObject } from "../../../../src/machinery/registry/writes/create-object.ts";
import { deleteObject } from "../../../../src/machinery/registry/writes/delete-object.ts";
import { ResourceRegistry } from "../../../../src/machinery/registry/resource-registry.ts";
import { MemoryStore } from "../../../../src/machinery/storage/backends/memory.ts";
import { ChangeFeed } from "../../../../src/machinery/storage/change-feed.ts";
import { createCertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import type { CertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import { signRevocationList } from "../../../../src/pki/revocation/certificate-revocation-list.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";

const hour = 3_600_000;
const start = Date.UTC(2026, 0, 1);
const authority = (commonName: string): CertificateAuthority =>
  createCertificateAuthority({
    subject: { commonName },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore: start,
    notAfter: start + hour,
  });

async function openLists() {
  const store = new MemoryStore();
  const registry = new ResourceRegistry<ConfigMap>({
    definition: configMaps(names),
    store,
    feed: new ChangeFeed({ store }),
    admission: () => [],
    clock: systemClock,
    maximumObjectBytes: Infinity,
    onWritten: () => {},
    onRefused: () => {},
  });
  await registry.start();
  const faults: string[] = [];
  const lists = new PublishedLists({
    configMaps: registry,
    namespace: "system",
    onBadList: (name, fault) => faults.push(`${name}: ${(fault as Error).message}`),
  });
  const caller = {
    user: { username: "anyone", groups: [], extra: {} },
    isDryRun: false,
    signal: new AbortController().signal,
    warn: () => {},
  };
  return {
    faults,
    async write(name: string, { issuer, by }: Record<"issuer" | "by", CertificateAuthority>): Promise<void> {
      const times = { thisUpdate: start, nextUpdate: start + hour };
      const der = await signRevocationList({ entries: Buffer.alloc(0), number: 1, ...times }, by);
      const list = { number: 1, issuer: issuer.certificate.der, der };
      for (const object of storedListObjects({ name, namespace: "system", list })) {
        await createObject(registry, { namespace: "system", object, manager: "test", caller });
      }
    },
    async remove(name: string): Promise<void> {
      await deleteObject(registry, { namespace: "system", name, options: { isDryRun: false }, caller });
    },
    async served(): Promise<readonly string[]> {
      await registry.waitForRevision(store.latestRevision());
      await lists.ready();
      return [...lists.all().keys()];
    },
  };
}

const nameOf = ({ certificate }: CertificateAuthority): string => storedListName(authorityId(certificate), undefined);

test("a list in the store is served only when the CA of its name has signed it", async () => {
  const { write, served, faults } = await openLists();
  const [ours, copied, replaced] = [authority("ours"), authority("copied"), authority("replaced")];
  await write(nameOf(ours), { issuer: ours, by: ours });
  await write(nameOf(copied), { issuer: copied, by: ours });
  await write(nameOf(replaced), { issuer: ours, by: ours });
  assert.deepEqual(await served(), [nameOf(ours)]);
  assert.deepEqual(faults, [
    `${nameOf(copied)}: x509: ECDSA verification failure`,
    `${nameOf(replaced)}: it is not of the CA of its name`,
  ]);
});

test("a list whose ConfigMap was deleted is not served any more", async () => {
  const { write, remove, served, faults } = await openLists();
  const ours = authority("ours");
  await write(nameOf(ours), { issuer: ours, by: ours });
  assert.deepEqual(await served(), [nameOf(ours)]);
  await remove(nameOf(ours));
  assert.deepEqual(await served(), []);
  assert.deepEqual(faults, []);
});
