import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { CallObserver } from "../../../src/machinery/grpc/grpc-call.ts";
import { ProtobufWriter } from "../../../src/machinery/schema/protobuf-wire.ts";
import type { EtcdClient } from "../../../src/machinery/storage/etcd/etcd-client.ts";
import { EtcdWatch } from "../../../src/machinery/storage/etcd/etcd-watch.ts";
import type { EtcdWatchOptions } from "../../../src/machinery/storage/etcd/etcd-watch.ts";
import type { KeyValue } from "../../../src/machinery/storage/etcd/etcd-messages.ts";
import { plainRevisions } from "../../../src/machinery/storage/etcd/revision-form.ts";
import { RevisionCompacted } from "../../../src/machinery/storage/store.ts";

interface Events {
  readonly events: readonly number[];
  readonly value?: Buffer;
  /** More of the last revision follows. */
  readonly isFragment?: boolean;
}

/** A `WatchResponse` with the events of some revisions; without one, a progress report. Last field first. */
function encodeAnswer(revision: number, { events, value = Buffer.from("{}"), isFragment = false }: Events): Buffer {
  const writer = new ProtobufWriter();
  for (const event of events.toReversed()) {
    writer.messageField(11, () =>
      writer.messageField(2, () => {
        writer.bytesField(5, value);
        writer.varintField(3, event);
        writer.varintField(2, event);
        writer.stringField(1, `/k${event}`);
      }),
    );
  }
  if (isFragment) writer.varintField(7, 1);
  writer.messageField(1, () => writer.varintField(3, revision));
  return writer.finish();
}

/** A watch after revision 10, on a stream that the test answers on. */
async function openWatch(options: Pick<EtcdWatchOptions, "read"> = {}) {
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
  const { onMessage } = await opened.promise;
  await nextTurn();
  const tell = (...events: readonly number[]): void => onMessage(encodeAnswer(events.at(-1) ?? 0, { events }));
  return {
    watch,
    changes,
    ends,
    tell,
    tellFragment: (revision: number, value: Buffer) =>
      onMessage(encodeAnswer(revision, { events: [revision], value, isFragment: true })),
    tellProgress: (revision: number) => onMessage(encodeAnswer(revision, { events: [] })),
  };
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

  it("ends so that all is loaded again when a revision has more events than fit into memory", async () => {
    const { changes, ends, tell, tellFragment } = await openWatch();
    tell(11);
    for (let fragment = 0; fragment < 1_000 && ends.length === 0; fragment++) tellFragment(12, Buffer.alloc(2 ** 20));
    assert.deepEqual([changes, ends], [[11], [new RevisionCompacted(11)]]);
  });

  it("looks every five minutes, and ends so that all is loaded again when etcd has a change that was not told", async (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const told = { key: "/k12", value: Buffer.alloc(0), createRevision: 12, modRevision: 12 };
    const missed = { ...told, key: "/k11", createRevision: 11, modRevision: 11 };
    let keyValues: readonly KeyValue[] = [];
    const { ends, tell } = await openWatch({
      read: async ({ revision }) => ({ revision, keyValues, hasMore: false, count: keyValues.length }),
    });
    keyValues = [missed, told];
    tell(12);
    assert.equal(ends.length, 0);
    t.mock.timers.tick(5 * 60_000);
    while (ends.length === 0) await nextTurn();
    assert.ok(ends[0] instanceof RevisionCompacted);
    assert.match(String(ends[0].cause), /etcd has not told of a change/);
  });

  it("does not believe a revision that no etcd has, of a change or of a progress report", async () => {
    const { watch, changes, tell, tellProgress } = await openWatch();
    assert.throws(() => tell(2 ** 63 - 2 ** 10), /no etcd has revision/);
    assert.throws(() => tellProgress(2 ** 63 - 2 ** 10), /no etcd has revision/);
    assert.deepEqual([changes, watch.position], [[], 10]);
  });
});
