import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AnswerTooLong, grpcStatus } from "../../../../src/machinery/grpc/grpc-error.ts";
import type { CallObserver } from "../../../../src/machinery/grpc/grpc-call.ts";
import { ProtobufWriter } from "../../../../src/machinery/schema/protobuf/protobuf-wire.ts";
import type { EtcdClient } from "../../../../src/machinery/storage/etcd/etcd-client.ts";
import { EtcdWatch } from "../../../../src/machinery/storage/etcd/etcd-watch.ts";
import type { EtcdWatchOptions } from "../../../../src/machinery/storage/etcd/etcd-watch.ts";
import type { KeyValue } from "../../../../src/machinery/storage/etcd/etcd-messages.ts";
import { plainRevisions } from "../../../../src/machinery/storage/etcd/revision-form.ts";
import { WatchCheck } from "../../../../src/machinery/storage/etcd/watch-check.ts";
import { RevisionCompacted } from "../../../../src/machinery/storage/store.ts";

interface Events {
  readonly events: readonly number[];
}

/** A `WatchResponse` with the events of some revisions; without one, a progress report. Last field first. */
function encodeAnswer(revision: number, { events }: Events): Buffer {
  const writer = new ProtobufWriter();
  for (const event of events.toReversed()) {
    writer.messageField(11, () =>
      writer.messageField(2, () => {
        writer.bytesField(5, Buffer.from("{}"));
        writer.varintField(3, event);
        writer.varintField(2, event);
        writer.stringField(1, `/k${event}`);
      }),
    );
  }
  writer.messageField(1, () => writer.varintField(3, revision));
  return writer.finish();
}

/** A watch after revision 10, on a stream that the test answers on. */
async function openWatch(options: Pick<EtcdWatchOptions, "check"> = {}) {
  const opened = Promise.withResolvers<CallObserver>();
  const client: Pick<EtcdClient, "stream"> = {
    async stream(_, observer) {
      opened.resolve(observer);
      return { send() {}, end() {}, pause() {}, resume() {}, cancel() {} };
    },
  };
  const changes: number[] = [];
  const ends: Error[] = [];
  const watch = new EtcdWatch({
    client,
    range: { key: "/", rangeEnd: "0" },
    storeKey: (key) => key,
    form: plainRevisions,
    request: {
      afterRevision: 10,
      onChanges: (brought) => void changes.push(...brought.map(({ revision }) => revision)),
      onEnd: (error) => void ends.push(error),
    },
    onClosed: () => {},
    ...options,
  });
  assert.equal(watch.position, 10);
  const { onMessage, onEnd } = await opened.promise;
  await nextTurn();
  const tell = (...events: readonly number[]): void => onMessage(encodeAnswer(events.at(-1) ?? 0, { events }));
  return {
    watch,
    changes,
    ends,
    tell,
    breakOff: onEnd,
    tellProgress: (revision: number) => onMessage(encodeAnswer(revision, { events: [] })),
  };
}

/** Of an etcd whose watch loses a change: it has the keys `/k11` and `/k12` then. */
function openCheck() {
  const told = { key: "/k12", value: Buffer.alloc(0), createRevision: 12, modRevision: 12 };
  const missed = { ...told, key: "/k11", createRevision: 11, modRevision: 11 };
  let keyValues: readonly KeyValue[] = [];
  const check = new WatchCheck({
    range: { key: "/", rangeEnd: "0" },
    afterRevision: 10,
    read: async ({ revision }) => ({ revision, keyValues, hasMore: false, count: keyValues.length }),
  });
  return { check, loseChange: () => void (keyValues = [missed, told]) };
}

describe("a watch of etcd", () => {
  it("passes over the events that were there before, and those that come twice", async () => {
    const { changes, ends, tell } = await openWatch();
    tell(9);
    tell(10);
    tell(11, 12);
    tell(11, 12);
    tell(13);
    // On a slow machine, a turn of the event loop delivers only the first.
    while (changes.length < 3 && ends.length === 0) await nextTurn();
    assert.deepEqual([changes, ends], [[11, 12, 13], []]);
  });

  it("ends so that all is loaded again when a change comes after those that follow it", async () => {
    const { changes, ends, tell } = await openWatch();
    tell(12);
    tell(11);
    tell(13);
    assert.deepEqual([changes, ends], [[12], [new RevisionCompacted(12)]]);
  });

  it("ends so that all is loaded again when a change comes after a progress report that covered it", async () => {
    const { changes, ends, tell, tellProgress } = await openWatch();
    tellProgress(11);
    tell(11);
    assert.deepEqual([changes, ends], [[], [new RevisionCompacted(11)]]);
  });

  it("ends so that all is loaded again when the changes of one answer are not in their order", async () => {
    const { changes, ends, tell } = await openWatch();
    tell(12, 11);
    tell(13);
    assert.deepEqual([changes, ends], [[], [new RevisionCompacted(10)]]);
  });

  it("ends so that all is loaded again when etcd tells more at once than can be read", async () => {
    const { changes, ends, tell, breakOff } = await openWatch();
    tell(11);
    breakOff(new AnswerTooLong("too long", { code: grpcStatus.internal, mayHaveRun: true }));
    assert.deepEqual([changes, ends], [[11], [new RevisionCompacted(11)]]);
  });

  it("looks every five minutes, and ends so that all is loaded again when etcd has a change that was not told", async (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const { check, loseChange } = openCheck();
    const { watch, ends, tell } = await openWatch({ check });
    loseChange();
    tell(12);
    assert.equal(ends.length, 0);
    t.mock.timers.tick(5 * 60_000);
    while (ends.length === 0) await nextTurn();
    assert.ok(ends[0] instanceof RevisionCompacted);
    assert.match(String(ends[0].cause), /etcd has not told of a change/);
    assert.equal(watch.check, undefined, "what is loaded begins another comparison");
  });

  for (const [when, hasLooked] of [
    ["after", false],
    ["before", true],
  ] as const) {
    it(`ends when a watch that broke off was not told a change, and the look is ${when} its own beginning`, async (t) => {
      t.mock.timers.enable({ apis: ["setInterval"] });
      const { check, loseChange } = openCheck();
      const { watch, tell, breakOff } = await openWatch({ check });
      loseChange();
      tell(12);
      breakOff(undefined);
      if (hasLooked) await check.check();
      const next = await openWatch({ check: watch.check });
      if (!hasLooked) await check.check();
      while (next.ends.length === 0) await nextTurn();
      assert.match(String(next.ends[0]?.cause), /etcd has not told of a change/);
    });
  }

  it("tells no progress when eight requests in a row bring nothing, and tells it again with the first report", async () => {
    const { watch, tell, tellProgress } = await openWatch();
    const ask = (times: number): void => {
      for (let time = 0; time < times; time++) watch.requestProgress();
    };
    ask(7);
    tell(11);
    ask(7);
    assert.equal(watch.reportsProgress, true);
    ask(1);
    assert.equal(watch.reportsProgress, false);
    tell(12);
    assert.equal(watch.reportsProgress, false);
    tellProgress(12);
    assert.equal(watch.reportsProgress, true);
  });

  it("does not believe a revision that no etcd has, of a change or of a progress report", async () => {
    const { watch, changes, tell, tellProgress } = await openWatch();
    assert.throws(() => tell(2 ** 63 - 2 ** 10), /no etcd has revision/);
    assert.throws(() => tellProgress(2 ** 63 - 2 ** 10), /no etcd has revision/);
    assert.deepEqual([changes, watch.position], [[], 10]);
  });
});
