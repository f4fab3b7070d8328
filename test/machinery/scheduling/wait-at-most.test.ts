import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { waitAtMost } from "../../../src/machinery/scheduling/wait-at-most.ts";

const never = new Promise<string>(() => {});

describe("a wait with a limit", () => {
  it("ends with the promise, and leaves no timer behind", async () => {
    const timersBefore = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    assert.equal(await waitAtMost(60_000, Promise.resolve("answer")), "answer");
    await assert.rejects(waitAtMost(60_000, Promise.reject(new Error("refused"))), /refused/);
    assert.equal(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length, timersBefore);
  });

  it("gives nothing once its time is over, and not before", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    let isOver = false;
    const waited = waitAtMost(1000, never).finally(() => (isOver = true));
    context.mock.timers.tick(999);
    await Promise.resolve();
    assert.equal(isOver, false);
    context.mock.timers.tick(1);
    assert.equal(await waited, undefined);
  });
});
