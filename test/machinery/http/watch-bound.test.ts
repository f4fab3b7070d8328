import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { WatchBound } from "../../../src/machinery/http/watch-bound.ts";
import type { SharePath } from "../../../src/machinery/scheduling/share-path.ts";

const named = (username: string): SharePath => ["others", username];

const short = { query: "watch=1", headers: { accept: "application/json" } };

const isRefusal = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 429 && error.retryAfterSeconds === 10;

describe("the bound of watches", () => {
  it("gives a user a quarter of those that others leave, and refuses more with 429 and a time to wait", () => {
    const watches = new WatchBound(20);
    for (const [user, count] of [
      ["alice", 4],
      ["bob", 3],
    ] as const) {
      for (let index = 0; index < count; index++) watches.of(short).enter(named(user));
      assert.throws(() => watches.of(short).enter(named(user)), isRefusal);
    }
    assert.equal(watches.refused, 2);
  });

  it("has room again for a user whose watch has ended", () => {
    const watches = new WatchBound(4);
    watches.of(short).enter(named("alice"));
    assert.throws(() => watches.of(short).enter(named("alice")), isRefusal);
    watches.of(short).leave(named("alice"));
    assert.doesNotThrow(() => watches.of(short).enter(named("alice")));
  });

  it("never exceeds the whole", () => {
    const watches = new WatchBound(2);
    for (const user of ["alice", "bob"]) watches.of(short).enter(named(user));
    assert.throws(() => watches.of(short).enter(named("carol")), isRefusal);
  });

  it("counts a watch with long selectors or headers as several", () => {
    for (const long of [
      { ...short, query: `watch=1&labelSelector=${"a,".repeat(130)}` },
      { ...short, query: `watch=1&field%53elector=${"a%3Db,".repeat(65)}` },
      { ...short, headers: { ...short.headers, cookie: ["c".repeat(20_000)] } },
    ]) {
      const watches = new WatchBound(40);
      const [first, second] = [watches.of(long), watches.of(long)];
      first.enter(named("alice"));
      second.enter(named("alice"));
      assert.throws(() => watches.of(long).enter(named("alice")), isRefusal);
      first.leave(named("alice"));
      second.leave(named("alice"));
      for (let index = 0; index < 7; index++) watches.of(short).enter(named("alice"));
      assert.throws(() => watches.of(long).enter(named("alice")), isRefusal);
      watches.of(short).enter(named("alice"));
      assert.throws(() => watches.of(short).enter(named("alice")), isRefusal);
    }
  });
});
