import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { FairQueue } from "../../../src/machinery/http/fair-queue.ts";
import type { SharePath } from "../../../src/machinery/scheduling/share-path.ts";

const named = (username: string): SharePath => ["others", username];

describe("a fair queue", () => {
  it("gives users their turns in rounds, however many requests one of them sends", async () => {
    const queue = new FairQueue({ concurrency: 1, queueLength: 10 });
    const order: string[] = [];
    assert.equal(queue.enter(named("flood")), undefined);
    const waiting = ["flood", "flood", "flood", "alice", "bob", "alice"].map((user) =>
      Promise.resolve(queue.enter(named(user))).then(() => {
        order.push(user);
        queue.leave(named(user));
      }),
    );
    queue.leave(named("flood"));
    await Promise.all(waiting);
    assert.deepEqual(order, ["flood", "alice", "bob", "flood", "alice", "flood"]);
    assert.deepEqual([queue.running, queue.waiting], [0, 0]);
  });

  it("leaves a quarter of the places to others, however long the requests of one user run", async () => {
    const queue = new FairQueue({ concurrency: 8, queueLength: 100 });
    const flood = Array.from({ length: 20 }, () => queue.enter(named("flood")));
    assert.equal(flood.filter((turn) => turn === undefined).length, 6);
    for (const user of ["alice", "bob"]) assert.equal(queue.enter(named(user)), undefined);
    const late = queue.enter(named("carol"));
    assert.ok(late !== undefined);
    queue.leave(named("bob"));
    await late;
    assert.deepEqual([queue.running, queue.waiting], [8, 14]);
    queue.leave(named("flood"));
    assert.equal(queue.enter(named("dave")), undefined);
    assert.deepEqual([queue.running, queue.waiting], [8, 14]);
  });

  it("lets somebody else run while several users together take all that they may have", () => {
    const queue = new FairQueue({ concurrency: 200, queueLength: 800 });
    for (const user of ["token", "certificate"])
      for (let count = 0; count < 200; count++) void queue.enter(named(user));
    assert.deepEqual([queue.running, queue.waiting], [153, 247]);
    assert.equal(queue.enter(named("carol")), undefined);
  });

  it("runs all that wait and may run, when what one user leaves widens the shares of others", () => {
    const queue = new FairQueue({ concurrency: 8, queueLength: 100 });
    for (let count = 0; count < 6; count++) void queue.enter(named("leaving"));
    for (let count = 0; count < 6; count++) void queue.enter(named("waiting"));
    assert.deepEqual([queue.running, queue.waiting], [7, 5]);
    for (let count = 0; count < 6; count++) queue.leave(named("leaving"));
    assert.deepEqual([queue.running, queue.waiting], [6, 0]);
  });

  it("refuses with 429 a request that may neither run nor wait, and counts it", () => {
    const queue = new FairQueue({ concurrency: 1, queueLength: 4 });
    const refuses = (user: string): void =>
      assert.throws(
        () => queue.enter(named(user)),
        (error) => error instanceof ApiError && error.code === 429 && error.retryAfterSeconds === 1,
      );
    for (const user of ["a", "a", "a"]) void queue.enter(named(user));
    refuses("a");
    void queue.enter(named("b"));
    refuses("b");
    assert.equal(queue.refused, 2);
  });

  it("never exceeds its limit, and drops no request", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 40 }), async (users) => {
        const queue = new FairQueue({ concurrency: 3, queueLength: 100 });
        let [running, served] = [0, 0];
        await Promise.all(
          users.map(async (user) => {
            await queue.enter(named(user));
            assert.ok(++running <= 3);
            await Promise.resolve();
            running--;
            served++;
            queue.leave(named(user));
          }),
        );
        assert.deepEqual([served, queue.running, queue.waiting], [users.length, 0, 0]);
      }),
    );
  });
});
