import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FailureLog } from "../../src/agent/failure-log.ts";
import { logTo } from "./log-to.ts";
import { VirtualTime } from "./virtual-time.ts";

function scene() {
  const time = new VirtualTime(0);
  const lines: string[] = [];
  const log = logTo(({ failures }, message) => void lines.push(`${message} (${String(failures)})`));
  const failures = new FailureLog({ log, monotonic: time, failure: "no lease", recovery: "a lease again" });
  return { time, lines, log, failures };
}

describe("the log of an outage", () => {
  it("has each reason once, again after a quarter of an hour, and the end", () => {
    const { time, lines, failures } = scene();
    for (let second = 0; second < 1000; second++) {
      failures.failed(new Error(second % 2 === 0 ? "the first server is away" : "the second server is away"));
      time.jump(1000);
    }
    failures.succeeded();
    failures.succeeded();
    assert.deepEqual(lines, [
      "no lease: the first server is away (1)",
      "no lease: the second server is away (2)",
      "no lease: the first server is away (901)",
      "no lease: the second server is away (902)",
      "a lease again (1000)",
    ]);
  });

  it("knows what fails now, and forgets it when it works", () => {
    const { failures } = scene();
    assert.equal(failures.present, undefined);
    failures.failed(new Error("away"));
    failures.failed(new Error("busy"));
    assert.equal(failures.present, "no lease: busy");
    failures.succeeded();
    assert.equal(failures.present, undefined);
  });

  it("tells of another one at once when all has worked for a minute", () => {
    const { time, lines, failures } = scene();
    const one = ["no lease: away (1)", "a lease again (1)"];
    failures.failed(new Error("away"));
    for (let second = 0; second < 60; second++) {
      failures.succeeded();
      time.jump(1000);
    }
    failures.failed(new Error("away"));
    failures.succeeded();
    assert.deepEqual(lines, [...one, ...one]);
  });

  it("is no longer when the server comes and goes", () => {
    const { time, lines, failures } = scene();
    for (let second = 0; second < 1000; second++) {
      failures.failed(new Error("away"));
      failures.succeeded();
      time.jump(1000);
    }
    assert.deepEqual(lines, ["no lease: away (1)", "a lease again (1)", "no lease: away (1)", "a lease again (1)"]);
  });

  it("has one line for all that fail together, and knows of each what fails now", () => {
    const { time, lines, log } = scene();
    const logged = new Map<string, number>();
    const failuresOf = (name: string): FailureLog =>
      new FailureLog({ log, monotonic: time, failure: `no ${name}`, recovery: `${name} again`, logged });
    const [one, other] = [failuresOf("one"), failuresOf("other")];
    const outage = (): void => {
      for (const each of [one, other]) each.failed(new Error("away"));
      assert.deepEqual([one.present, other.present], ["no one: away", "no other: away"]);
      for (const each of [one, other]) each.succeeded();
      time.jump(60_000);
    };
    outage();
    outage();
    const lineOfEach = ["no one: away (1)", "one again (1)"];
    assert.deepEqual(lines, [...lineOfEach, ...lineOfEach]);
    one.failed(new Error("gone"));
    other.failed(new Error("forbidden"));
    assert.deepEqual(lines.slice(4), ["no one: gone (1)", "no other: forbidden (1)"]);
  });

  it("has a reason once that says what the time is", () => {
    const { lines, failures } = scene();
    for (const time of ["2026-11-27T13:11:35.076Z", "2026-11-27T13:11:38Z"]) {
      failures.failed(new Error(`the clock is wrong (it says ${time})`));
    }
    assert.deepEqual(lines, ["no lease: the clock is wrong (it says 2026-11-27T13:11:35.076Z) (1)"]);
  });

  it("has few of the reasons that are another one each time, and then tells how often it failed", () => {
    const { time, lines, failures } = scene();
    for (let number = 1; number <= 2000; number++) {
      failures.failed(new Error(`request ${number} was refused`));
      time.jump(1000);
    }
    failures.succeeded();
    assert.deepEqual(
      lines.map((line) => /\((\d+)\)$/.exec(line)?.[1]),
      [1, 901, 1801].flatMap((first) => Array.from({ length: 20 }, (_, index) => String(first + index))).concat("2000"),
    );
    assert.deepEqual(
      lines.slice(0, 20).map((line) => line.includes("others are not logged")),
      [...Array.from({ length: 19 }, () => false), true],
    );
  });
});
