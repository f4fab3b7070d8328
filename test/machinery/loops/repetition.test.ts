import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { tooManyRequests } from "../../../src/machinery/api/api-error.ts";
import { backoffMilliseconds } from "../../../src/machinery/loops/backoff.ts";
import { Repetition } from "../../../src/machinery/loops/repetition.ts";

const tenSecondsToTenMinutes = { firstMilliseconds: 10_000, longestMilliseconds: 600_000 };

test("waits double up to the longest, and half of each is random", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const wait = backoffMilliseconds(tenSecondsToTenMinutes, { failures, random });
      assert.ok(wait >= 5000 && wait <= 600_000);
    }),
  );
  const waits = [1, 2, 3, 9].map((failures) => backoffMilliseconds(tenSecondsToTenMinutes, { failures, random: 1 }));
  assert.deepEqual(waits, [10_000, 20_000, 40_000, 600_000]);
});

test("machines that begin at one moment do not repeat together for ever, and none waits longer than the interval", async () => {
  const stopping = new AbortController();
  const waits: number[] = [];
  const dice = [0, 0.5, 1];
  const repetition = new Repetition(async () => {}, {
    intervalMilliseconds: 10_000,
    random: () => dice[waits.length] ?? 0,
    async sleep(milliseconds) {
      if (waits.push(milliseconds) === dice.length) stopping.abort();
    },
    onFailure: () => assert.fail("nothing fails"),
  });
  await repetition.run(stopping.signal);
  assert.deepEqual(waits, [10_000, 9800, 9600]);
});

test("a failure is tried again when the server asks for it, but no later than after the longest wait, nor sooner than after any", async () => {
  for (const [retryAfterSeconds, expected] of [
    [0, 500],
    [2, 2000],
    [3600, 7000],
  ] as const) {
    const stopping = new AbortController();
    const waits: number[] = [];
    const repetition = new Repetition(() => Promise.reject(tooManyRequests("slow down", retryAfterSeconds)), {
      intervalMilliseconds: 10_000,
      backoff: { firstMilliseconds: 1000, longestMilliseconds: 7000 },
      random: () => 0,
      async sleep(milliseconds) {
        waits.push(milliseconds);
        stopping.abort();
      },
      onFailure: () => {},
    });
    await repetition.run(stopping.signal);
    assert.deepEqual(waits, [expected]);
  }
});

test("a success makes the wait after the next failure short again", async () => {
  const stopping = new AbortController();
  const outcomes = [false, false, true, false];
  const waits: number[] = [];
  const failures: unknown[] = [];
  const repetition = new Repetition(
    () => (outcomes[waits.length] === true ? Promise.resolve() : Promise.reject(new Error(`try ${waits.length}`))),
    {
      intervalMilliseconds: 10_000,
      backoff: { firstMilliseconds: 1000, longestMilliseconds: 7000 },
      random: () => 1,
      async sleep(milliseconds) {
        if (waits.push(milliseconds) === outcomes.length) stopping.abort();
      },
      onFailure: (error) => failures.push(error),
    },
  );
  await repetition.run(stopping.signal);
  assert.deepEqual(waits, [1000, 2000, 9600, 1000]);
  assert.deepEqual(failures.map(String), ["Error: try 0", "Error: try 1", "Error: try 3"]);
});

test("a call ends one wait, and the next wait is whole again", async () => {
  const stopping = new AbortController();
  const areEnded: boolean[] = [];
  const repetition: Repetition = new Repetition(async () => {}, {
    intervalMilliseconds: 10_000,
    random: () => 0,
    async sleep(_milliseconds, signal) {
      if (areEnded.length === 0) repetition.now();
      if (areEnded.push(signal.aborted) === 2) stopping.abort();
    },
    onFailure: () => assert.fail("nothing fails"),
  });
  await repetition.run(stopping.signal);
  assert.deepEqual(areEnded, [true, false]);
});

test("a failure after the end is not told", async () => {
  const stopping = new AbortController();
  const repetition = new Repetition(
    async () => {
      stopping.abort();
      throw new Error("the connection was closed");
    },
    {
      intervalMilliseconds: 10_000,
      random: () => 0,
      sleep: () => assert.fail("it has ended"),
      onFailure: () => assert.fail("it has ended"),
    },
  );
  await repetition.run(stopping.signal);
});
