import assert from "node:assert/strict";
import { test } from "node:test";
import { stopSignal } from "../../../src/machinery/command-line/stop-signal.ts";

test("a signal that comes again within a second is that of the same Ctrl-C, and a later one ends the process at once", async () => {
  const others = new Set([...process.listeners("SIGINT"), ...process.listeners("SIGTERM")]);
  let [now, ends] = [5_000, 0];
  try {
    const stopped = stopSignal(
      () => (ends += 1),
      () => now,
    );
    for (const [signal, at, wanted] of [
      ["SIGINT", 5_000, 0],
      ["SIGINT", 5_000, 0],
      ["SIGTERM", 6_000, 0],
      ["SIGINT", 6_001, 1],
      ["SIGTERM", 9_000, 2],
    ] as const) {
      now = at;
      process.emit(signal, signal);
      assert.equal(ends, wanted, `${signal} at ${at}`);
    }
    assert.equal(await stopped, "SIGINT");
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      for (const listener of process.listeners(signal)) if (!others.has(listener)) process.off(signal, listener);
    }
  }
});
