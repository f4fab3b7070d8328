import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Operation } from "./linearizability.ts";
import { isExplainedByLog } from "./log-order.ts";
import type { SeenEvent } from "./watch-follower.ts";

const event = (type: SeenEvent["type"], revision: number): SeenEvent => ({ type, name: "a", revision });
const log = [event("ADDED", 2), event("MODIFIED", 3), event("DELETED", 4)];
const at = (invokedAt: number, returnedAt: number) => ({ invokedAt, returnedAt });
const created: Operation = { ...at(0, 1), action: "create", outcome: "done", value: "a", revision: 2 };
const update = (invokedAt: number): Operation => ({
  ...at(invokedAt, Infinity),
  action: "update",
  outcome: "unknown",
  value: "b",
});
const read = (invokedAt: number, value: string, revision: number): Operation => ({
  ...at(invokedAt, invokedAt + 1),
  action: "read",
  outcome: "found",
  value,
  revision,
});
const missing = (invokedAt: number): Operation => ({
  ...at(invokedAt, invokedAt + 1),
  action: "read",
  outcome: "missing",
});
const deleted: Operation = { ...at(8, 9), action: "delete", outcome: "done" };

describe("the order that a watch told", () => {
  it("explains a history that it fits, writes without an answer included", () => {
    assert.ok(isExplainedByLog([created, read(2, "a", 2), update(3), read(5, "b", 3), deleted, missing(10)], log));
  });

  const others: Readonly<Record<string, readonly Operation[]>> = {
    "a stale read": [created, update(2), read(3, "b", 3), read(5, "a", 2), deleted],
    "a read of what is sent only later": [created, read(2, "b", 3), update(5), deleted],
    "an object that is missing while it is there": [
      created,
      read(2, "a", 2),
      missing(4),
      read(6, "a", 2),
      update(7),
      deleted,
    ],
    "an object that is there after its delete": [created, update(2), read(3, "b", 3), deleted, read(10, "b", 3)],
    "changes that nobody made": [created, deleted],
  };
  for (const [name, history] of Object.entries(others)) {
    it(`does not explain ${name}`, () => assert.ok(!isExplainedByLog(history, log)));
  }
});
