import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { grpcStatus } from "../../../../src/machinery/grpc/grpc-error.ts";
import { EtcdStore } from "../../../../src/machinery/storage/backends/etcd.ts";
import { groupedRevisions } from "../../../../src/machinery/storage/etcd/revision-form.ts";
import { StoreUnavailable, ValueTooLarge, WriteOutcomeUnknown } from "../../../../src/machinery/storage/store.ts";
import { skipsEtcd, startEtcd } from "./etcd-process.ts";
import type { EtcdCluster } from "./etcd-process.ts";
import { startFakeEtcd } from "./fake-etcd.ts";
import { startForgetfulEtcd } from "./forgetful-etcd.ts";
import { put, testStore } from "../store-contract.ts";
import type { OpenedStore } from "../store-contract.ts";

const openOn = (etcd: EtcdCluster): EtcdStore =>
  new EtcdStore({
    servers: etcd.urls,
    tls: () => etcd.tls,
    prefix: "/signet",
    profile: "platform",
    callMilliseconds: 60_000,
  });

interface FreshOptions {
  readonly isTls?: boolean;
  /** A prefix that was begun before writes were grouped, or on a server that cannot group them. */
  readonly isPlain?: boolean;
}

/** Only a new etcd starts its revisions from the beginning. */
async function openFresh({ isTls = false, isPlain = false }: FreshOptions = {}): Promise<OpenedStore> {
  const etcd = await startEtcd({ isTls });
  const store = openOn(etcd);
  // Either waits for a connection as long as it takes; a watch does not.
  if (isPlain) await store.latestRevision();
  else await store.open();
  const dispose = async (): Promise<void> => {
    await store.close();
    await etcd.stop();
  };
  // The state of the prefix is the first write.
  const { step } = groupedRevisions;
  return { store, ...(!isPlain && { firstRevision: 2 * step, step }), dispose };
}

// Most of their time is etcd's: several at once.
describe("etcd", { skip: skipsEtcd, concurrency: 4 }, () => {
  testStore("etcd", () => openFresh());
  testStore("etcd (TLS)", () => openFresh({ isTls: true }));
  testStore("etcd (plain)", () => openFresh({ isPlain: true }));

  it("reports the size of its database", async () => {
    const { store, dispose } = await openFresh();
    const bytes = await store.sizeBytes?.();
    assert.ok(bytes !== undefined && bytes > 0, String(bytes));
    await dispose();
  });
});

describe("an etcd that loses the event of a write", { skip: skipsEtcd }, () => {
  it("ends the watch of the store that wrote as soon as that has come as far, so that all is loaded again", async () => {
    const etcd = await startEtcd();
    const forgetful = await startForgetfulEtcd(etcd.urls[0] ?? assert.fail("it has a member"));
    const store = openOn({ ...etcd, urls: [forgetful.url] });
    await store.open();
    const told = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<Error>();
    store.watch({
      afterRevision: await store.latestRevision(),
      onChanges: () => told.resolve(),
      onEnd: ended.resolve,
    });
    await put(store, "/a", "1");
    await told.promise;
    forgetful.losesNextEvents = true;
    await put(store, "/b", "1");
    await store.latestRevision(); // as each read does, and then it asks how far the watch is
    store.catchUp();
    assert.match(String((await ended.promise).cause), /etcd has not told of a change/);
    await store.close();
    await forgetful.stop();
    await etcd.stop();
  });
});

describe("a write that etcd does not confirm", () => {
  const outcomeOf = async (status: number, message: string): Promise<unknown> => {
    await using etcd = await startFakeEtcd({
      onCall: (call) =>
        call.path === "/etcdserverpb.KV/Txn" ? call.fail(status, message) : call.answer(Buffer.alloc(0)),
    });
    const store = new EtcdStore({
      servers: [etcd.url],
      prefix: "/signet",
      profile: "platform",
      callMilliseconds: 1_500,
    });
    const write = store.write({ key: "/a", value: Buffer.from("1"), expectedRevision: 0 });
    const failure: unknown = await write.then(
      () => assert.fail("written"),
      (error: Error) => error.constructor,
    );
    await store.close();
    return failure;
  };

  it("may have happened where etcd failed, and has not where etcd refused it", async () => {
    const { unknown, internal, unavailable, invalidArgument, resourceExhausted } = grpcStatus;
    const permissionDenied = 7;
    for (const [status, message, outcome] of [
      [unknown, "failed", WriteOutcomeUnknown],
      [internal, "failed", WriteOutcomeUnknown],
      [unavailable, "etcdserver: leader changed", WriteOutcomeUnknown],
      [resourceExhausted, "etcdserver: mvcc: database space exceeded", WriteOutcomeUnknown],
      [unavailable, "etcdserver: no leader", StoreUnavailable],
      [permissionDenied, "etcdserver: permission denied", StoreUnavailable],
      [invalidArgument, "etcdserver: request is too large", ValueTooLarge],
    ] as const) {
      assert.equal(await outcomeOf(status, message), outcome, message);
    }
  });
});
