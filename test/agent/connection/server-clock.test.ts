import assert from "node:assert/strict";
import { test } from "node:test";
import { logSkew, ServerClock, setsClock } from "../../../src/agent/connection/server-clock.ts";
import { logTo } from "../log-to.ts";
import type { ClientResponse } from "../../../src/machinery/client/transport.ts";

test("the server's time is the machine's until an answer differs by more than half a minute", () => {
  let machine = Date.UTC(2026, 0);
  const told: number[] = [];
  const local = { now: () => machine };
  const clock = new ServerClock({ local, monotonic: local, onSkew: (skew) => told.push(skew) });
  const observe = (aheadMilliseconds: number, tookMilliseconds = 0): void => {
    machine += tookMilliseconds;
    clock.observe({ headers: { date: new Date(machine + aheadMilliseconds).toUTCString() } }, tookMilliseconds);
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
  for (const aheadMilliseconds of [-35_000, 25_000]) {
    observe(aheadMilliseconds, 60_000);
    assert.equal(clock.now(), machine);
  }
  for (const headers of [{}, { date: "soon" }]) clock.observe({ headers }, 0);
  assert.equal(told.length, 3);
  // Its time counts for the middle of its way.
  observe(3_600_000, 60_000);
  assert.equal(clock.now(), machine + 3_630_500);
});

test("a clock that is set brings no other time before the next answer of the server", () => {
  const day = 86_400_000;
  const start = Date.UTC(2026, 0);
  let [machine, elapsed] = [start, 0];
  const monotonic = { now: () => elapsed };
  const clock = new ServerClock({ local: { now: () => machine }, monotonic, onSkew: () => {} });
  const pass = (milliseconds: number): void =>
    void ([machine, elapsed] = [machine + milliseconds, elapsed + milliseconds]);
  const observe = (): void => clock.observe({ headers: { date: new Date(start + elapsed - 500).toUTCString() } }, 0);
  const isRight = (): void => assert.ok(Math.abs(clock.now() - start - elapsed) <= 1000, `${clock.now() - start}`);
  machine += day;
  assert.equal(clock.now(), start + day, "before the first answer there is nothing to compare with");
  // The clock is a month early, as on a machine without a battery, until it hears of the time.
  machine = start - 30 * day;
  observe();
  isRight();
  machine += 30 * day;
  isRight();
  pass(60_000);
  isRight();
  observe();
  pass(day);
  isRight();
  machine += 3 * day;
  isRight();
  machine -= 400 * day;
  isRight();
  observe();
  isRight();
});

test("a clock that is set while an answer is under way brings no other time", async () => {
  const start = Date.UTC(2026, 0);
  const year = 365 * 86_400_000;
  for (const setBy of [year, -year]) {
    let [machine, elapsed] = [start, 0];
    const told: number[] = [];
    const clock = new ServerClock({
      local: { now: () => machine },
      monotonic: { now: () => elapsed },
      onSkew: (skew) => told.push(skew),
    });
    const answer: ClientResponse = {
      status: 200,
      headers: { date: new Date(start).toUTCString() },
      body: (async function* () {})(),
    };
    const transport = setsClock(
      {
        async send() {
          machine += setBy + 500;
          elapsed += 500;
          return answer;
        },
        close: () => {},
      },
      clock,
    );
    await transport.send({ method: "GET", path: "/" });
    assert.ok(Math.abs(clock.now() - start - elapsed) <= 1000, `${clock.now() - start}`);
    assert.deepEqual(
      told.map((skew) => Math.round(skew / year)),
      [-setBy / year],
    );
  }
});

test("without a monotonic clock, the time after a sleep is the machine's", () => {
  const hour = 3_600_000;
  let machine = Date.UTC(2026, 0);
  const clock = new ServerClock({ local: { now: () => machine }, onSkew: () => {} });
  clock.observe({ headers: { date: new Date(machine).toUTCString() } }, 0);
  machine += 8 * hour;
  assert.equal(clock.now(), machine);
});

test("a date that no server's clock has is ignored", () => {
  const machine = Date.UTC(2026, 0);
  const local = { now: () => machine };
  const clock = new ServerClock({ local, monotonic: local, onSkew: () => assert.fail("there is no skew") });
  for (const year of ["275760", "10000", "9999", "1969", "1601"]) {
    clock.observe({ headers: { date: `Sat, 13 Sep ${year} 00:00:00 GMT` } }, 0);
  }
  assert.equal(clock.now(), machine);
});

test("the log tells by how many seconds the clocks differ, and that they agree again", () => {
  const told: unknown[] = [];
  const log = logTo((...line) => told.push(line));
  logSkew(90_400, log);
  logSkew(400, log);
  assert.deepEqual(told, [
    [{ skewSeconds: 90 }, "this machine's clock differs from the server's, whose time is used for certificates"],
    [{}, "this machine's clock agrees with the server's again"],
  ]);
});
