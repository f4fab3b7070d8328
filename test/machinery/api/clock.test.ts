import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { queryObjects } from "node:v8";
import { sleep, systemSchedule, unreferencedSleep } from "../../../src/machinery/api/clock.ts";
import { periodically } from "../../../src/machinery/scheduling/periodically.ts";

/** Node.js keeps the timers of a duration in a list, which each of its timers leads to. */
function timerListClass(): new () => unknown {
  const timer = setTimeout(() => undefined, 60_000);
  const { _idlePrev: list } = timer as unknown as { _idlePrev: { constructor: new () => unknown } }; // Node.js's own field
  clearTimeout(timer);
  return list.constructor;
}

/** What Node.js warns of while something runs. */
async function warningsOf(run: () => void): Promise<string[]> {
  const warnings: string[] = [];
  const keep = ({ name }: Error): void => void warnings.push(name);
  process.on("warning", keep);
  run();
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", keep);
  return warnings;
}

describe("a time that is longer than timers are", () => {
  const year = 365 * 86_400_000;

  it("is not over at once", async () => {
    assert.deepEqual(await warningsOf(() => setTimeout(() => {}, year).unref()), ["TimeoutOverflowWarning"]);
    const warnings = await warningsOf(() => {
      systemSchedule(() => {}, year);
      periodically({ milliseconds: year, task: () => {}, onFailure: () => {} });
      const ending = new AbortController();
      void sleep(year, ending.signal);
      void unreferencedSleep(year, ending.signal);
      ending.abort();
    });
    assert.deepEqual(warnings, []);
  });
});

describe("the system's schedule", () => {
  it("frees the memory of a cancelled timer whose duration no other timer has", () => {
    const TimerList = timerListClass();
    const count = (): number => queryObjects(TimerList, { format: "count" });
    const before = count();
    const cancels = Array.from({ length: 100 }, (_, index) => systemSchedule(() => undefined, 1_000_000.5 + index));
    assert.equal(count(), before + 100);
    for (const cancel of cancels) cancel();
    assert.equal(count(), before);
  });
});

describe("a sleep", () => {
  it("ends when its signal aborts, and at once when it has", async () => {
    const ending = new AbortController();
    const slept = [sleep, unreferencedSleep].map((one) => one(1_000_000, ending.signal));
    ending.abort();
    await Promise.all([...slept, sleep(1_000_000, ending.signal)]);
  });
});
