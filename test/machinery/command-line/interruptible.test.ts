import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CommandFailure } from "../../../src/machinery/command-line/command-failure.ts";
import { interruptible } from "../../../src/machinery/command-line/interruptible.ts";

describe("work that can be interrupted", () => {
  for (const [signal, exitCode] of [
    ["SIGHUP", 129],
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    it(`ends at ${signal} with its exit code, and says what is left`, async () => {
      const work = interruptible("nothing was changed", async (interruption) => {
        process.emit(signal, signal);
        interruption.throwIfAborted();
      });
      await assert.rejects(work, (error) => {
        assert.ok(error instanceof CommandFailure);
        assert.deepEqual([error.message, error.exitCode], [`ended by ${signal}; nothing was changed`, exitCode]);
        return true;
      });
    });
  }

  it("ends in order although the signal comes twice, and leaves a later one to end the process", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const before = process.listenerCount("SIGINT");
    const work = interruptible("nothing was changed", async (interruption) => {
      process.emit("SIGINT", "SIGINT");
      process.emit("SIGINT", "SIGINT");
      t.mock.timers.tick(999);
      assert.equal(process.listenerCount("SIGINT"), before + 1);
      t.mock.timers.tick(1);
      assert.equal(process.listenerCount("SIGINT"), before);
      interruption.throwIfAborted();
    });
    await assert.rejects(work, /ended by SIGINT; nothing was changed/);
  });

  it("leaves signals alone as soon as it is done", async () => {
    const listeners = () => ["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => process.listenerCount(signal));
    const before = listeners();
    assert.equal(await interruptible("nothing was changed", () => Promise.resolve("done")), "done");
    assert.deepEqual(listeners(), before);
  });
});
