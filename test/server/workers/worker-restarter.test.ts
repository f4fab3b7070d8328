import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { WorkerRestarter } from "../../../src/server/workers/worker-restarter.ts";

/** WorkerRestarter something that fails the given number of times and then serves. Resolves with the wait before each try. */
async function waitsUntilServed(failures: number): Promise<{ readonly waits: number[]; readonly told: number[] }> {
  const waits: number[] = [];
  const told: number[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  let tries = 0;
  const restarts = new WorkerRestarter({
    async start() {
      if (++tries <= failures) throw new Error("the data directory is gone");
      resolve();
    },
    onFailure: (_error, count) => told.push(count),
    sleep: async (milliseconds) => void waits.push(milliseconds),
    random: () => 1,
  });
  restarts.ended({ servedMilliseconds: 60_000 });
  await promise;
  return { waits, told };
}

describe("restarts of workers", () => {
  it("replace at once a worker that has served for a while", async () => {
    assert.deepEqual(await waitsUntilServed(0), { waits: [], told: [] });
  });

  it("wait twice as long after each failure, up to half a minute", async () => {
    const { waits, told } = await waitsUntilServed(10);
    assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000]);
    assert.equal(told.at(-1), 10);
  });

  it("count a worker that ends soon as a failure", async () => {
    const waits: number[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const restarts: WorkerRestarter = new WorkerRestarter({
      async start() {
        if (waits.length < 3) setImmediate(() => restarts.ended({ servedMilliseconds: 5 }));
        else resolve();
      },
      onFailure: () => assert.fail("nothing failed"),
      sleep: async (milliseconds) => void waits.push(milliseconds),
      random: () => 1,
    });
    restarts.ended({ servedMilliseconds: 5 });
    await promise;
    assert.deepEqual(waits, [500, 1000, 2000]);
  });

  it("end a wait when they are stopped, and start no more workers", async () => {
    const { promise: waiting, resolve } = Promise.withResolvers<void>();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const restarts = new WorkerRestarter({
      start: () => assert.fail("something was started"),
      onFailure: () => assert.fail("nothing was tried"),
      sleep: (_milliseconds, signal) => {
        resolve();
        return new Promise((done) => {
          signal.addEventListener("abort", () => {
            done();
            end();
          });
        });
      },
      random: () => 1,
    });
    restarts.ended({ servedMilliseconds: 5 });
    await waiting;
    restarts.stop();
    await ended;
    await new Promise(setImmediate);
  });
});
