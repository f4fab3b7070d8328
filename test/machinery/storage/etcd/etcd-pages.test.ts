import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { grpcStatus } from "../../../../src/machinery/grpc/grpc-error.ts";
import { EtcdStore } from "../../../../src/machinery/storage/backends/etcd.ts";
import { KeySpace } from "../../../../src/machinery/storage/etcd/key-space.ts";
import { StoreUnavailable } from "../../../../src/machinery/storage/store.ts";
import { startFakeEtcd } from "./fake-etcd.ts";
import type { FakeEtcd, FakeRange } from "./fake-etcd.ts";

const place = { prefix: "/signet", profile: "platform" };
const keys = Array.from({ length: 20 }, (_, index) => `/registry/things/${String(index).padStart(2, "0")}`);
const everything = { start: "/registry/things/", end: "/registry/things0" };
const keySpace = new KeySpace(place);

const listen = (onRange: (range: FakeRange) => void): Promise<FakeEtcd> =>
  startFakeEtcd({ keys: keys.map((key) => keySpace.etcdKey(key)), onRange });

function openOn(etcd: FakeEtcd): EtcdStore & AsyncDisposable {
  const store = new EtcdStore({ ...place, servers: [etcd.url] });
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}

const keysOf = async (store: EtcdStore): Promise<string[]> =>
  (await store.range(everything)).entries.map(({ key }) => key);

describe("a page of a range in etcd", () => {
  it("is requested again with half as many entries after an answer that is too late", async () => {
    await using etcd = await listen((range) =>
      range.limit > 20 ? range.fail(grpcStatus.deadlineExceeded) : range.answer(),
    );
    await using store = openOn(etcd);
    assert.deepEqual(await keysOf(store), keys);
    assert.deepEqual(etcd.limits, [64, 32, 16, 32, 16]);
    assert.equal(etcd.connectionCount, 1);
  });

  it("is requested again with half as many entries after an answer that is too long", async () => {
    await using etcd = await listen((range) => (range.limit > 8 ? range.answerTooLong() : range.answer()));
    await using store = openOn(etcd);
    assert.deepEqual(await keysOf(store), keys);
    assert.deepEqual(etcd.limits, [64, 32, 16, 8, 16, 8, 16, 8]);
    assert.equal(etcd.connectionCount, 1);
  });

  it("is given up when even one entry is too long, and the next range begins with one", async () => {
    let isTooLong = true;
    await using etcd = await listen((range) => (isTooLong ? range.answerTooLong() : range.answer()));
    await using store = openOn(etcd);
    await assert.rejects(keysOf(store), StoreUnavailable);
    assert.deepEqual(etcd.limits, [64, 32, 16, 8, 4, 2, 1]);
    isTooLong = false;
    assert.deepEqual(await keysOf(store), keys);
    assert.deepEqual(etcd.limits.slice(7), [1, 2, 4, 8, 16]);
  });
});

describe("a read of etcd without an answer for 1.5 s", () => {
  /** On how many connections the keys are read, when the member does not answer the first time. */
  async function connectionsOf(context: TestContext, meanwhile: (range: FakeRange) => Promise<void>): Promise<number> {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const asked = Promise.withResolvers<FakeRange>();
    await using etcd = await listen((range) => (range.limit === 64 ? asked.resolve(range) : range.answer()));
    await using store = openOn(etcd);
    const reading = keysOf(store);
    await meanwhile(await asked.promise);
    context.mock.timers.tick(1_500);
    while (etcd.limits.length < 2) {
      await nextTurn();
      context.mock.timers.tick(1);
    }
    assert.deepEqual(await reading, keys);
    return etcd.connectionCount;
  }

  it("is repeated on a new connection when the member is silent", async (context) => {
    assert.equal(await connectionsOf(context, async () => {}), 2);
  });

  it("is repeated on its connection when the member has sent something else", async (context) => {
    assert.equal(await connectionsOf(context, (range) => range.sendOther()), 1);
  });
});
