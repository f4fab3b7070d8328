import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { History } from "./honest-history.ts";
import { checkAgainstLog } from "./log-order.ts";
import type { Operation } from "./operation.ts";
import type { FollowedEvent } from "../watch-follower.ts";

const at = (invokedAt: number, returnedAt: number) => ({ invokedAt, returnedAt });
const sent = (invokedAt: number) => at(invokedAt, Infinity);
const created = (from: number, to: number, value: string, revision: number): Operation => ({
  ...at(from, to),
  action: "create",
  outcome: "done",
  value,
  revision,
});
const updated = (from: number, to: number, value: string, revision: number): Operation => ({
  ...at(from, to),
  action: "update",
  outcome: "done",
  value,
  revision,
});
const read = (from: number, to: number, value: string, revision: number): Operation => ({
  ...at(from, to),
  action: "read",
  outcome: "found",
  value,
  revision,
});
const missing = (from: number, to: number): Operation => ({ ...at(from, to), action: "read", outcome: "missing" });
const exists = (from: number, to: number): Operation => ({
  ...at(from, to),
  action: "create",
  outcome: "exists",
  value: `refused at ${from}`,
});
const conflict = (from: number, to: number, expectedRevision: number): Operation => ({
  ...at(from, to),
  action: "update if",
  outcome: "conflict",
  value: `refused at ${from}`,
  expectedRevision,
});
const deleted = (from: number, to: number, uid: string): Operation => ({
  ...at(from, to),
  action: "delete",
  outcome: "done",
  uid,
});
const unansweredUpdate = (invokedAt: number, value: string): Operation => ({
  ...sent(invokedAt),
  action: "update",
  outcome: "unknown",
  value,
});
const unansweredDelete = (invokedAt: number): Operation => ({
  ...sent(invokedAt),
  action: "delete",
  outcome: "unknown",
});

const seen = { name: "key", seenAt: 1000 };
const added = (value: string, revision: number): FollowedEvent => ({
  ...seen,
  type: "ADDED",
  uid: `uid-${value}`,
  value,
  revision,
});
const modified = (value: string, revision: number, uid = "uid-a"): FollowedEvent => ({
  ...seen,
  type: "MODIFIED",
  uid,
  value,
  revision,
});
const gone = (revision: number, uid = "uid-a"): FollowedEvent => ({
  ...seen,
  type: "DELETED",
  uid,
  value: "whatever it held",
  revision,
});

const verdictOf = ({ operations, log }: History): string => checkAgainstLog(operations, { log }).type;

describe("the order that a watch told explains", () => {
  const good: Readonly<Record<string, History>> = {
    "nothing at all": { operations: [], log: [] },
    "one client's life of an object": {
      operations: [
        missing(0, 1),
        created(2, 3, "a", 2),
        read(4, 5, "a", 2),
        exists(5, 6),
        updated(6, 7, "b", 3),
        conflict(7, 8, 2),
        deleted(8, 9, "uid-a"),
        missing(10, 11),
        created(12, 13, "c", 5),
      ],
      log: [added("a", 2), modified("b", 3), gone(4), added("c", 5)],
    },
    "concurrent reads that see a write or not": {
      operations: [created(0, 1, "a", 2), updated(2, 10, "b", 3), read(3, 4, "b", 3), read(3, 9, "a", 2)],
      log: [added("a", 2), modified("b", 3)],
    },
    "an unanswered write that is seen later": {
      operations: [created(0, 1, "a", 2), unansweredUpdate(2, "b"), read(3, 4, "a", 2), read(50, 51, "b", 3)],
      log: [added("a", 2), modified("b", 3)],
    },
    "unanswered writes that never happened": {
      operations: [created(0, 1, "a", 2), unansweredUpdate(2, "b"), unansweredDelete(2), read(50, 51, "a", 2)],
      log: [added("a", 2)],
    },
    "an unanswered write that was never read and that explains a conflict": {
      operations: [created(0, 1, "a", 2), unansweredUpdate(2, "b"), conflict(5, 6, 2)],
      log: [added("a", 2), modified("b", 3)],
    },
    "a delete that finds nothing since the client's own unanswered one came first": {
      operations: [
        created(0, 1, "a", 2),
        unansweredDelete(2),
        { ...at(5, 6), action: "delete", outcome: "missing" },
        created(7, 8, "b", 4),
      ],
      log: [added("a", 2), gone(3), added("b", 4)],
    },
    "an unanswered delete that comes after the next create": {
      operations: [
        created(0, 1, "a", 2),
        unansweredDelete(2),
        deleted(3, 4, "uid-a"),
        created(5, 6, "b", 4),
        read(7, 8, "b", 4),
        missing(9, 10),
      ],
      log: [added("a", 2), gone(3), added("b", 4), gone(5, "uid-b")],
    },
    "answers that fit one of several states, where the earliest times would not do": {
      operations: [created(0, 1, "a", 2), deleted(2, 20, "uid-a"), exists(10, 11), missing(12, 13)],
      log: [added("a", 2), gone(3)],
    },
    "two answers that must have seen different gaps of the object's life": {
      operations: [
        created(0, 1, "a", 2),
        deleted(2, 20, "uid-a"),
        created(2, 20, "b", 4),
        deleted(2, 20, "uid-b"),
        missing(5, 6),
        exists(7, 8),
        missing(9, 10),
      ],
      log: [added("a", 2), gone(3), added("b", 4), gone(5, "uid-b")],
    },
  };
  for (const [name, history] of Object.entries(good)) {
    it(name, () => assert.deepEqual(checkAgainstLog(history.operations, { log: history.log }), { type: "explained" }));
  }
});

describe("the order that a watch told refutes", () => {
  const [a, b] = [created(0, 1, "a", 2), updated(2, 3, "b", 3)];
  const twoWrites = [added("a", 2), modified("b", 3)];
  const bad: Readonly<Record<string, History>> = {
    "a stale read": { operations: [a, b, read(4, 5, "a", 2)], log: twoWrites },
    "reads that go back": {
      operations: [a, updated(2, 20, "b", 3), read(3, 4, "b", 3), read(5, 6, "a", 2)],
      log: twoWrites,
    },
    "reads of an unanswered write that go back": {
      operations: [a, unansweredUpdate(2, "b"), read(3, 4, "b", 3), read(5, 6, "a", 2)],
      log: twoWrites,
    },
    "a lost create": { operations: [a, missing(2, 3)], log: [added("a", 2)] },
    "a lost create that no watch told of": { operations: [a, missing(2, 3)], log: [] },
    "a 404 for an update of an object that was there": {
      operations: [a, { ...at(2, 3), action: "update", outcome: "missing", value: "c" }, updated(4, 5, "b", 3)],
      log: twoWrites,
    },
    "a refused create of an object that was not there": {
      operations: [exists(0, 1), created(2, 3, "a", 2)],
      log: [added("a", 2)],
    },
    "a lost update": {
      operations: [
        a,
        { ...at(2, 3), action: "update if", outcome: "done", value: "b", expectedRevision: 2, revision: 3 },
        { ...at(2, 5), action: "update if", outcome: "done", value: "c", expectedRevision: 2, revision: 4 },
      ],
      log: [...twoWrites, modified("c", 4)],
    },
    "an unanswered update that overwrote what it should not": {
      operations: [a, b, { ...sent(2), action: "update if", outcome: "unknown", value: "c", expectedRevision: 2 }],
      log: [...twoWrites, modified("c", 4)],
    },
    "two creates of one object": {
      operations: [created(0, 5, "a", 2), created(1, 6, "b", 3)],
      log: [added("a", 2), added("b", 3)],
    },
    "a value that was never written": { operations: [a], log: [added("a", 2), modified("z", 9)] },
    "a read that no watch told of": { operations: [a, read(2, 3, "z", 9)], log: [added("a", 2)] },
    "a conflict without a cause": { operations: [a, conflict(2, 3, 2), updated(4, 5, "b", 3)], log: twoWrites },
    "a refused write that happened": {
      operations: [a, { ...at(2, 3), action: "update if", outcome: "conflict", value: "b", expectedRevision: 1 }],
      log: twoWrites,
    },
    "an unanswered write that is seen before it was sent": {
      operations: [a, read(2, 3, "b", 3), unansweredUpdate(4, "b")],
      log: twoWrites,
    },
    "an unanswered write that a watch told of before it was sent": {
      operations: [a, unansweredUpdate(4, "b")],
      log: [added("a", 2), { ...modified("b", 3), seenAt: 3 }],
    },
    "an unanswered write that happens twice": {
      operations: [a, unansweredUpdate(2, "b"), updated(5, 6, "c", 4)],
      log: [...twoWrites, modified("c", 4), modified("b", 5)],
    },
    "one write with two revisions": { operations: [a, read(2, 3, "a", 3)], log: [added("a", 2)] },
    "an object that comes back after its delete": {
      operations: [a, deleted(2, 3, "uid-a"), read(4, 5, "a", 2)],
      log: [added("a", 2), gone(3)],
    },
    "a delete that two clients were told they had made": {
      operations: [a, deleted(2, 3, "uid-a"), deleted(2, 4, "uid-a")],
      log: [added("a", 2), gone(3)],
    },
    "a delete that was never sent": { operations: [a], log: [added("a", 2), gone(3)] },
    "a delete that was sent only after the object was missing": {
      operations: [a, missing(2, 3), unansweredDelete(4)],
      log: [added("a", 2), gone(3)],
    },
    "a watch out of order": { operations: [a, b], log: [modified("b", 3), added("a", 2)] },
    "writes in another order than time's": {
      operations: [created(0, 1, "a", 2), updated(5, 6, "b", 3), updated(2, 3, "c", 4)],
      log: [...twoWrites, modified("c", 4)],
    },
    "answers of which each fits a state but not all": {
      operations: [a, deleted(2, 20, "uid-a"), created(2, 20, "b", 4), missing(5, 6), exists(7, 8), missing(9, 10)],
      log: [added("a", 2), gone(3), added("b", 4)],
    },
  };
  for (const [name, history] of Object.entries(bad)) {
    it(name, () => assert.equal(verdictOf(history), "violation"));
  }
});

describe("the order that a watch told, when an answer fits several states and the earliest times do not do,", () => {
  const history = {
    operations: [created(0, 20, "a", 2), deleted(2, 20, "uid-a"), created(2, 20, "b", 4), missing(10, 11)],
    log: [added("a", 2), gone(3), added("b", 4)],
  };

  it("explains it by a guess", () => assert.equal(verdictOf(history), "explained"));

  it("leaves undecided what may not be guessed, which is neither explained nor a violation", () => {
    assert.equal(checkAgainstLog(history.operations, { log: history.log, maximumGuesses: 0 }).type, "undecided");
  });
});
