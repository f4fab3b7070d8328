import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { linearizabilityFault } from "./linearizability.ts";
import type { Operation } from "./linearizability.ts";
import { revisionFaults } from "./revision-order.ts";

const at = (invokedAt: number, returnedAt: number) => ({ invokedAt, returnedAt });
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
const deleted = (from: number, to: number): Operation => ({ ...at(from, to), action: "delete", outcome: "done" });

describe("the history checker finds an order for", () => {
  const good: Readonly<Record<string, readonly Operation[]>> = {
    "nothing at all": [],
    "one client's life of an object": [
      missing(0, 1),
      created(2, 3, "a", 2),
      read(4, 5, "a", 2),
      updated(6, 7, "b", 3),
      deleted(8, 9),
      missing(10, 11),
      created(12, 13, "c", 5),
    ],
    "concurrent reads that see a write or not": [
      created(0, 1, "a", 2),
      updated(2, 10, "b", 3),
      read(3, 4, "b", 3),
      read(3, 9, "a", 2),
    ],
    "an unanswered write that is seen later": [
      created(0, 1, "a", 2),
      { ...at(2, Infinity), action: "update", outcome: "unknown", value: "b" },
      read(3, 4, "a", 2),
      read(50, 51, "b", 3),
    ],
    "an unanswered write that never happened": [
      created(0, 1, "a", 2),
      { ...at(2, Infinity), action: "delete", outcome: "unknown" },
      read(50, 51, "a", 2),
    ],
    "an unanswered write that nobody read and that explains a conflict": [
      created(0, 1, "a", 2),
      { ...at(2, Infinity), action: "update", outcome: "unknown", value: "b" },
      { ...at(5, 6), action: "update if", outcome: "conflict", value: "c", expectedRevision: 2 },
    ],
  };
  for (const [name, history] of Object.entries(good)) {
    it(name, () => assert.equal(linearizabilityFault(history), undefined));
  }
});

describe("the history checker refuses", () => {
  const bad: Readonly<Record<string, readonly Operation[]>> = {
    "a stale read": [created(0, 1, "a", 2), updated(2, 3, "b", 3), read(4, 5, "a", 2)],
    "reads that go back": [created(0, 1, "a", 2), updated(2, 20, "b", 3), read(3, 4, "b", 3), read(5, 6, "a", 2)],
    "a lost create": [created(0, 1, "a", 2), missing(2, 3)],
    "a lost update": [
      created(0, 1, "a", 2),
      { ...at(2, 3), action: "update if", outcome: "done", value: "b", expectedRevision: 2, revision: 3 },
      { ...at(4, 5), action: "update if", outcome: "done", value: "c", expectedRevision: 2, revision: 4 },
    ],
    "two creates of one object": [created(0, 5, "a", 2), created(1, 6, "b", 3)],
    "a value that nobody wrote": [created(0, 1, "a", 2), read(2, 3, "z", 9)],
    "a conflict without a cause": [
      created(0, 1, "a", 2),
      { ...at(2, 3), action: "update if", outcome: "conflict", value: "b", expectedRevision: 2 },
    ],
    "an unanswered write that is seen before it was sent": [
      created(0, 1, "a", 2),
      read(2, 3, "b", 3),
      { ...at(4, Infinity), action: "update", outcome: "unknown", value: "b" },
    ],
    "an unanswered write that happens twice": [
      created(0, 1, "a", 2),
      { ...at(2, Infinity), action: "update", outcome: "unknown", value: "b" },
      read(3, 4, "b", 3),
      updated(5, 6, "c", 4),
      read(7, 8, "b", 3),
    ],
    "one write with two revisions": [created(0, 1, "a", 2), read(2, 3, "a", 3)],
    "an object that comes back": [created(0, 1, "a", 2), deleted(2, 3), read(4, 5, "a", 2)],
  };
  for (const [name, history] of Object.entries(bad)) {
    it(name, () => assert.notEqual(linearizabilityFault(history), undefined));
  }
});

describe("the order of revisions", () => {
  const write = (invokedAt: number, returnedAt: number, revision: number) =>
    ({ type: "write", invokedAt, returnedAt, revision }) as const;
  const list = (invokedAt: number, returnedAt: number, revision: number) =>
    ({ type: "list", invokedAt, returnedAt, revision }) as const;

  it("may be any for what was concurrent", () => {
    assert.deepEqual(revisionFaults([write(0, 5, 3), write(1, 4, 2), list(5, 6, 3), write(7, 8, 4)]), []);
  });

  it("must grow in real time", () => {
    assert.equal(revisionFaults([write(0, 1, 3), write(2, 3, 2)]).length, 1);
    assert.equal(revisionFaults([write(0, 1, 3), write(2, 3, 3)]).length, 1);
    assert.equal(revisionFaults([write(0, 1, 3), list(2, 3, 2)]).length, 1);
    assert.equal(revisionFaults([list(0, 1, 3), write(2, 3, 3)]).length, 1);
    assert.equal(revisionFaults([list(0, 1, 3), list(2, 3, 3)]).length, 0);
  });
});
