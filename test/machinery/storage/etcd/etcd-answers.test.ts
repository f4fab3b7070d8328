import assert from "node:assert/strict";
import { it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { grpcStatus } from "../../../../src/machinery/grpc/grpc-error.ts";
import { EtcdStore } from "../../../../src/machinery/storage/backends/etcd.ts";
import { everyKey } from "../../../../src/machinery/storage/key-range.ts";
import { StoreUnavailable, WriteOutcomeUnknown } from "../../../../src/machinery/storage/store.ts";
import { ProtobufWriter } from "../../../../src/machinery/schema/protobuf/protobuf-wire.ts";
import { startFakeEtcd, unreadable } from "./fake-etcd.ts";
import type { FakeCall } from "./fake-etcd.ts";

const openOn = (url: string, options: { readonly callMilliseconds?: number } = {}): EtcdStore & AsyncDisposable => {
  const store = new EtcdStore({ servers: [url], prefix: "/signet", profile: "platform", ...options });
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
};

/** A `StatusResponse` of etcd's `rpc.proto`. */
function statusOf(version: string): Buffer {
  const writer = new ProtobufWriter();
  writer.stringField(2, version);
  return writer.finish();
}

/** A `TxnResponse` to a swap that was made, with its revision. Last field first. */
function swappedAt(revision: number): Buffer {
  const writer = new ProtobufWriter();
  writer.varintField(2, 1);
  writer.messageField(1, () => writer.varintField(3, revision));
  return writer.finish();
}

it("an answer of etcd that can't be read is an outage for reads, and leaves open what a write did", async () => {
  await using etcd = await startFakeEtcd({
    keys: [],
    onRange: (range) => range.answerBytes(unreadable),
    onCall: (call) => call.answer(call.path.endsWith("Txn") ? unreadable : Buffer.alloc(0)),
  });
  await using store = openOn(etcd.url);
  const message = `${etcd.url} sent an answer that can't be read: unexpected EOF`;
  await assert.rejects(store.range(everyKey), new StoreUnavailable(message));
  await assert.rejects(
    store.write({ key: "/a", value: Buffer.from("{}"), expectedRevision: 1 }),
    new WriteOutcomeUnknown(message),
  );
});

for (const status of ["canceled", "unknown", "internal"] as const) {
  it(`a write that fails with the gRPC status ${status} may have been made`, async () => {
    await using etcd = await startFakeEtcd({
      onCall: (call) =>
        call.path.endsWith("Txn") ? call.fail(grpcStatus[status], "it ended") : call.answer(Buffer.alloc(0)),
    });
    await using store = openOn(etcd.url);
    await assert.rejects(
      store.write({ key: "/a", value: Buffer.from("{}"), expectedRevision: 1 }),
      new WriteOutcomeUnknown("it ended"),
    );
  });
}

it("an answer with a revision that no etcd has is an outage, not a revision to wait for: the next one is right", async () => {
  let revision = 2 ** 63 - 2 ** 10;
  await using etcd = await startFakeEtcd({
    onRange(range) {
      const answer = new ProtobufWriter();
      answer.messageField(1, () => answer.varintField(3, revision));
      range.answerBytes(answer.finish());
    },
  });
  await using store = openOn(etcd.url);
  const isRefused = (error: unknown): boolean =>
    error instanceof StoreUnavailable && /no etcd has revision \d+; check what is between/.test(error.message);
  await assert.rejects(store.latestRevision(), isRefused);
  revision = 2 ** 48 + 1;
  await assert.rejects(store.latestRevision(), isRefused);
  revision = 2 ** 48;
  assert.equal(await store.latestRevision(), revision);
});

it("an answer without a revision is an outage, not an etcd that has lost writes, and leaves open what a write did", async () => {
  const written = new ProtobufWriter();
  written.varintField(2, 1); // succeeded
  const answer = written.finish();
  let isSick = true;
  await using etcd = await startFakeEtcd({
    onRange: (range) => (isSick ? range.answerBytes(Buffer.alloc(0)) : range.answer()),
    onCall: (call) => call.answer(call.path.endsWith("Txn") ? answer : Buffer.alloc(0)),
  });
  await using store = openOn(etcd.url);
  const message = /^etcd's answer can't be right: it has no revision/;
  await assert.rejects(
    store.latestRevision(),
    (error) => error instanceof StoreUnavailable && message.test(error.message),
  );
  const write = store.write({ key: "/a", value: Buffer.from("{}"), expectedRevision: 1 });
  await assert.rejects(write, (error) => error instanceof WriteOutcomeUnknown && message.test(error.message));
  isSick = false;
  assert.equal(await store.latestRevision(), 7);
});

it("an empty answer leaves open what a write did, and does not say that the server's objects are gone", async () => {
  const answers = [swappedAt(7), Buffer.alloc(0), Buffer.alloc(0)];
  await using etcd = await startFakeEtcd({
    onCall: (call) => call.answer((call.path.endsWith("Txn") && answers.shift()) || Buffer.alloc(0)),
  });
  await using store = openOn(etcd.url);
  await store.open();
  const write = { key: "/a", value: Buffer.from("{}"), expectedRevision: 1 };
  const unknown = new WriteOutcomeUnknown(`${etcd.url} sent an answer that can't be read: it has no revision`);
  await assert.rejects(store.write(write), unknown);
  await assert.rejects(store.writeTogether([write]), unknown);
});

for (const [what, keys] of [
  ["without an entry", []],
  ["with entries that it sent before", ["/signet/a"]],
] as const) {
  it(`an answer of etcd that there is more, ${what}, is an outage, and is not asked for without end`, async () => {
    await using etcd = await startFakeEtcd({ onRange: (range) => range.answerMore(keys) });
    await using store = openOn(etcd.url);
    await assert.rejects(
      store.range(everyKey),
      (error) => error instanceof StoreUnavailable && error.message.startsWith("etcd's answer can't be right"),
    );
    assert.ok(etcd.limits.length <= 2);
  });
}

it("where etcd takes no write that would show a watch's progress, the watch ends and says why", async () => {
  await using etcd = await startFakeEtcd({
    keys: [],
    onRange: (range) => range.answer(),
    onCall(call) {
      if (call.path.endsWith("/Put"))
        call.fail(grpcStatus.resourceExhausted, "etcdserver: mvcc: database space exceeded");
      else if (!call.path.endsWith("/Watch")) call.answer(Buffer.alloc(0));
    },
  });
  await using store = openOn(etcd.url);
  const ended = Promise.withResolvers<Error>();
  store.watch({ afterRevision: 1, onChanges: () => {}, onEnd: ended.resolve });
  await store.latestRevision();
  store.catchUp();
  assert.match((await ended.promise).message, /^etcd's space quota is used up/);
});

it("where etcd never tells a watch's progress, as behind its gRPC proxy, a write shows it", async (t) => {
  const shown: string[] = [];
  await using etcd = await startFakeEtcd({
    onCall(call) {
      if (call.path.endsWith("/Put")) shown.push(call.path);
      if (call.path.endsWith("/Status")) call.answer(statusOf("3.6.6"));
      else if (!call.path.endsWith("/Watch")) call.answer(Buffer.alloc(0));
    },
  });
  await using store = openOn(etcd.url);
  await store.latestRevision();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  store.watch({ afterRevision: 1, onChanges: () => {}, onEnd: () => {} });
  store.catchUp();
  for (let turn = 0; turn < 1_000 && shown.length === 0; turn++) {
    t.mock.timers.tick(10);
    await nextTurn();
  }
  assert.notEqual(shown.length, 0);
});

for (const [said, advice] of [
  ["etcdserver: corrupt cluster", /alarm CORRUPT.* etcdctl alarm disarm$/],
  ["etcdserver: user name is empty", /give --etcd-certfile a certificate/],
  ["etcdserver: permission denied", /no user with the common name .* etcdctl role grant-permission$/],
] as const) {
  it(`the refusal "${said}" says what to do`, async () => {
    await using etcd = await startFakeEtcd({
      onCall(call) {
        if (call.path.endsWith("Txn")) call.fail(grpcStatus.invalidArgument, said);
        else call.answer(Buffer.alloc(0));
      },
    });
    await using store = openOn(etcd.url);
    const write = store.write({ key: "/a", value: Buffer.from("{}"), expectedRevision: 1 });
    await assert.rejects(write, (error) => error instanceof StoreUnavailable && advice.test(error.message));
  });
}

it("the refusal of a compaction says which role the user needs", async () => {
  await using etcd = await startFakeEtcd({
    onCall(call) {
      if (call.path.endsWith("/Compact")) call.fail(grpcStatus.invalidArgument, "etcdserver: permission denied");
      else call.answer(Buffer.alloc(0));
    },
  });
  await using store = openOn(etcd.url);
  await assert.rejects(store.compact(7), { name: "StoreUnavailable", message: /etcdctl user grant-role NAME root/ });
});

it("a call that meets a change of etcd's users or roles is tried again, also a write: it has done nothing", async () => {
  let refusals = 0;
  await using etcd = await startFakeEtcd({
    onCall(call) {
      if (call.path.endsWith("Txn") && refusals++ === 0)
        call.fail(grpcStatus.invalidArgument, "etcdserver: revision of auth store is old");
      else call.answer(Buffer.alloc(0));
    },
  });
  await using store = openOn(etcd.url);
  const { isWritten } = await store.write({ key: "/a", value: Buffer.from("{}"), expectedRevision: 1 });
  assert.deepEqual(
    { isWritten, refusals, connections: etcd.connectionCount },
    { isWritten: false, refusals: 2, connections: 1 },
  );
});

it("a member that was removed from its cluster is left: a read is repeated, and the outcome of a write is unknown", async () => {
  const stopped = "raft: stopped";
  let refusals = 0;
  await using etcd = await startFakeEtcd({
    onRange: (range) => (refusals++ === 0 ? range.fail(grpcStatus.unknown, stopped) : range.answer()),
    onCall(call) {
      if (call.path.endsWith("Txn")) call.fail(grpcStatus.unknown, stopped);
      else call.answer(Buffer.alloc(0));
    },
  });
  await using store = openOn(etcd.url);
  assert.equal(await store.latestRevision(), 7);
  assert.equal(etcd.connectionCount, 2);
  const write = store.write({ key: "/a", value: Buffer.from("{}"), expectedRevision: 1 });
  await assert.rejects(write, WriteOutcomeUnknown);
  await store.latestRevision();
  assert.equal(etcd.connectionCount, 3);
});

it("a write that is under way gets its answer on a connection that takes no more calls", async () => {
  const written = Promise.withResolvers<FakeCall>();
  await using etcd = await startFakeEtcd({
    onRange(range) {
      if (etcd.connectionCount === 1) void written.promise.then((write) => write.makeLast());
      else range.answer();
    },
    onCall(call) {
      if (call.path.endsWith("/Txn")) written.resolve(call);
      else call.answer(Buffer.alloc(0));
    },
  });
  await using store = openOn(etcd.url);
  const writing = store.write({ key: "/a", value: Buffer.from("{}"), expectedRevision: 1 });
  const write = await written.promise;
  await store.range(everyKey);
  write.answer(swappedAt(8));
  assert.deepEqual(await writing, { isWritten: true, revision: 8 });
});

it("a learner is not used: it answers first and refuses every call", async () => {
  const status = new ProtobufWriter();
  status.varintField(10, 1);
  const learnerStatus = status.finish();
  await using learner = await startFakeEtcd({
    onRange: () => assert.fail("a learner was asked"),
    onCall: (call) => call.answer(learnerStatus),
  });
  await using store = openOn(learner.url, { callMilliseconds: 0 });
  const message = `etcd can't be reached: ${learner.url} is a learner, which serves nothing until it is promoted`;
  await assert.rejects(store.latestRevision(), new StoreUnavailable(message));
});
