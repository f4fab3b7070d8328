import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { IssuedCertificate } from "../../../src/features/certificates/inventory/issued-certificates.ts";
import { issuedCertificateResource } from "../../../src/features/certificates/resources.ts";
import { systemClock } from "../../../src/machinery/api/clock.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { createObject } from "../../../src/machinery/registry/writes/create-object.ts";
import { deleteObject } from "../../../src/machinery/registry/writes/delete-object.ts";
import { deleteOptionsOfQuery } from "../../../src/machinery/registry/writes/delete-options.ts";
import { Stores } from "../../../src/machinery/registry/stores.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { ChangeFeed } from "../../../src/machinery/storage/change-feed.ts";
import { storedResources } from "../../../src/server/served-kinds.ts";
import { FollowedCertificates } from "../../../src/server/observation/followed-certificates.ts";
import { turnsDuring } from "../../turns-during.ts";

const hour = 3_600_000;
const now = Date.UTC(2026, 0, 1);
const caller = {
  user: { username: "anyone", groups: [], extra: {} },
  isDryRun: false,
  signal: new AbortController().signal,
  warn: () => {},
};

/** Records of certificates of two signers, which end after some hours. */
async function scene() {
  const store = new MemoryStore();
  const stores = new Stores({
    names,
    definitions: storedResources(names),
    store,
    feed: new ChangeFeed({ store }),
    clock: systemClock,
    maximumObjectBytes: Infinity,
    onWritten: () => {},
    onRefused: () => {},
  });
  await stores.start();
  stores.admitThrough([]);
  const registry = stores.of(issuedCertificateResource);
  const timeOf = (milliseconds: number): string => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
  return {
    registry,
    async add(name: string, { signer, hours }: { readonly signer: string; readonly hours: number }): Promise<void> {
      const object: IssuedCertificate = {
        kind: "IssuedCertificate",
        apiVersion: names.group("signet"),
        metadata: { name },
        spec: {
          signerName: `example.com/${signer}`,
          serialNumber: "1",
          fingerprint: "ab".repeat(32),
          notBefore: timeOf(now - 10 * hour),
          notAfter: timeOf(now + hours * hour),
        },
      };
      await createObject(registry, { namespace: "", object, manager: "test", caller });
    },
    async remove(name: string): Promise<void> {
      await deleteObject(registry, { namespace: "", name, options: deleteOptionsOfQuery(""), caller });
    },
    followed: new FollowedCertificates({ stores, signerLabel: (name) => name.replace("example.com/", "") }),
  };
}

const inHours = (ends: ReadonlyMap<string, number>): Record<string, number> =>
  Object.fromEntries([...ends].map(([signer, end]) => [signer, (end - now) / hour]));

describe("the soonest end of the certificates on record", () => {
  it("is that of the first one of each signer that has not ended, as records come and go", async () => {
    const { add, remove, followed } = await scene();
    await add("old", { signer: "one", hours: -1 });
    await add("soon", { signer: "one", hours: 2 });
    await add("late", { signer: "one", hours: 5 });
    await add("ended", { signer: "two", hours: -2 });
    assert.deepEqual(inHours(await followed.soonestEnds(now)), { one: 2 });
    await remove("soon");
    await add("other", { signer: "two", hours: 3 });
    assert.deepEqual(inHours(await followed.soonestEnds(now)), { one: 5, two: 3 });
    assert.deepEqual(inHours(await followed.soonestEnds(now + 4 * hour)), { one: 5 });
    await remove("late");
    await remove("old");
    assert.deepEqual(inHours(await followed.soonestEnds(now)), { two: 3 });
  });

  it("is looked for in turns, and counts what is written meanwhile", async (context) => {
    const { add, remove, followed } = await scene();
    for (let n = 0; n < 20; n += 1) await add(`record-${n}`, { signer: "one", hours: 10 + n });
    let milliseconds = 0;
    context.mock.method(performance, "now", () => (milliseconds += 10)); // each record takes as long as a turn
    const turns = await turnsDuring(async () => {
      const ends = followed.soonestEnds(now);
      await Promise.all([remove("record-0"), add("record-00", { signer: "one", hours: 9 }), remove("record-1")]);
      assert.deepEqual(inHours(await ends), { one: 9 });
    });
    assert.ok(turns >= 36, String(turns));
    await remove("record-00");
    assert.deepEqual(inHours(await followed.soonestEnds(now)), { one: 12 });
  });
});
