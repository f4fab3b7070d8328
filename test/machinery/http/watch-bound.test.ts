import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { WatchBound } from "../../../src/machinery/http/watch-bound.ts";
import type { SharePath } from "../../../src/machinery/scheduling/share-path.ts";

const named = (username: string): SharePath => ["others", username];

const isRefusal = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 429 && error.retryAfterSeconds === 10;

describe("the bound of watches", () => {
  it("gives a user a quarter of those that others leave, and refuses more with 429 and a time to wait", () => {
    const watches = new WatchBound(20);
    for (const [user, count] of [
      ["alice", 4],
      ["bob", 3],
    ] as const) {
      for (let index = 0; index < count; index++) watches.enter(named(user));
      assert.throws(() => watches.enter(named(user)), isRefusal);
    }
    assert.equal(watches.refused, 2);
  });

  it("has room again for a user whose watch has ended", () => {
    const watches = new WatchBound(4);
    watches.enter(named("alice"));
    assert.throws(() => watches.enter(named("alice")), isRefusal);
    watches.leave(named("alice"));
    assert.doesNotThrow(() => watches.enter(named("alice")));
  });

  it("never exceeds the whole", () => {
    const watches = new WatchBound(2);
    for (const user of ["alice", "bob"]) watches.enter(named(user));
    assert.throws(() => watches.enter(named("carol")), isRefusal);
  });
});
