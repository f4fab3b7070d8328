import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EventHistory } from "../../../../src/machinery/storage/watch-cache/event-history.ts";

const event = (revision: number, bytes = 1): { revision: number; bytes: number } => ({ revision, bytes });
const historyOf = (capacity: number, maximumBytes: number): EventHistory<{ revision: number; bytes: number }> =>
  new EventHistory({ capacity, maximumBytes, bytesOf: ({ bytes }) => bytes, oldestRevision: 0 });
const revisions = (events: readonly { readonly revision: number }[]): number[] =>
  events.map(({ revision }) => revision);

describe("the history of events", () => {
  it("keeps as many of the newest events as its length allows", () => {
    const history = historyOf(3, 100);
    for (let revision = 1; revision <= 10; revision += 1) history.push(event(revision));
    assert.deepEqual(revisions(history.after(0)), [8, 9, 10]);
    assert.deepEqual(revisions(history.after(9)), [10]);
    assert.equal(history.oldestRevision, 7);
  });

  it("keeps the newest entries within its byte limit, and always the last", () => {
    const history = historyOf(100, 8);
    for (let revision = 1; revision <= 5; revision += 1) history.push(event(revision, 4));
    assert.deepEqual(revisions(history.after(0)), [4, 5]);
    assert.equal(history.oldestRevision, 3);
    history.push(event(6, 50));
    assert.deepEqual(revisions(history.after(0)), [6]);
    history.push(event(7, 1));
    assert.deepEqual([revisions(history.after(0)), history.oldestRevision], [[7], 6]);
  });

  it("keeps nothing when its length is zero", () => {
    const history = historyOf(0, 10);
    history.push(event(1));
    assert.deepEqual([history.after(0), history.oldestRevision], [[], 1]);
  });
});
