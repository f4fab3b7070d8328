import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { UserInfo } from "../../../src/machinery/api/user-info.ts";
import { LongWork } from "../../../src/machinery/scheduling/long-work.ts";

/** Starts computations of three steps, each of which takes a turn. */
function start(t: TestContext, computations: readonly { readonly name: string; readonly user?: UserInfo }[]) {
  let milliseconds = 0;
  t.mock.method(performance, "now", () => (milliseconds += 10));
  const steps: string[] = [];
  const compute = async ({ name, user }: (typeof computations)[number]): Promise<void> => {
    const work = new LongWork(user);
    for (let step = 0; step < 3; step += 1) {
      steps.push(name);
      await work.pause();
    }
  };
  return { steps, ended: Promise.all(computations.map(compute)) };
}

describe("long computations", () => {
  it("take turns: one of them runs in each turn of the event loop", async (t) => {
    const { steps, ended } = start(t, [{ name: "a" }, { name: "b" }, { name: "c" }]);
    for (const expected of ["abc", "abca", "abcab", "abcabc"]) {
      assert.equal(steps.join(""), expected);
      await nextTurn();
    }
    await ended;
    assert.equal(steps.join(""), "abcabcabc");
  });

  it("of one user do not delay those of others, however many they are", async (t) => {
    const named = (username: string): UserInfo => ({ username, groups: [], extra: {} });
    const flood = Array.from({ length: 50 }, () => ({ name: "f", user: named("flood") }));
    const { steps, ended } = start(t, [...flood, { name: "a", user: named("alice") }, { name: "s" }]);
    await ended;
    const first = steps.slice(flood.length + 2).join("");
    assert.ok(first.lastIndexOf("a") < 6, first);
    assert.ok(first.lastIndexOf("s") < 6, first);
  });

  it("take their items one after the other, with others in between", async (t) => {
    let milliseconds = 0;
    t.mock.method(performance, "now", () => (milliseconds += 10));
    const steps: string[] = [];
    const each = (items: string): Promise<void> => new LongWork().each(items, (item) => void steps.push(item));
    await Promise.all([each("123"), each("abc")]);
    assert.equal(steps.join(""), "1a2b3c");
  });
});
