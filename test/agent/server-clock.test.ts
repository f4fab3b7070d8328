import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerClock } from "../../src/agent/server-clock.ts";

test("the server's time is the machine's until an answer differs by more than half a minute", () => {
  let machine = Date.UTC(2026, 0);
  const told: number[] = [];
  const clock = new ServerClock({ local: { now: () => machine }, onSkew: (skew) => told.push(skew) });
  const observe = (aheadMilliseconds: number, tookMilliseconds = 0): void => {
    const sentAt = machine;
    machine += tookMilliseconds;
    clock.observe({ headers: { date: new Date(machine + aheadMilliseconds).toUTCString() } }, sentAt);
  };
  observe(20_000);
  observe(-20_000);
  assert.deepEqual([clock.now(), told], [machine, []]);
  observe(3_600_000);
  assert.equal(clock.now(), machine + 3_600_500);
  observe(3_601_000);
  assert.equal(told.length, 1);
  observe(-86_400_000);
  assert.equal(told.length, 2);
  observe(0);
  assert.deepEqual([clock.now(), told.at(-1)], [machine, 0]);
  // A slow answer says little about the time.
  observe(-35_000, 60_000);
  assert.equal(clock.now(), machine);
  for (const headers of [{}, { date: "soon" }]) clock.observe({ headers }, machine);
  assert.equal(told.length, 3);
});

test("a date that no server's clock has is ignored", () => {
  const machine = Date.UTC(2026, 0);
  const clock = new ServerClock({ local: { now: () => machine }, onSkew: () => assert.fail("there is no skew") });
  for (const year of ["275760", "10000", "9999", "1969", "1601"]) {
    clock.observe({ headers: { date: `Sat, 13 Sep ${year} 00:00:00 GMT` } }, machine);
  }
  assert.equal(clock.now(), machine);
});
