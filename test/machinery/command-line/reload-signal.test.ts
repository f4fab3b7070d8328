import assert from "node:assert/strict";
import { test } from "node:test";
import { onReloadSignal } from "../../../src/machinery/command-line/reload-signal.ts";

test("SIGHUP reloads a process whose logs go elsewhere, and ends one on a terminal, which is gone then", (context) => {
  const reload = context.mock.fn();
  context.after(() => process.removeListener("SIGHUP", reload));
  onReloadSignal(reload, { isOnTerminal: true });
  assert.deepEqual(process.listeners("SIGHUP"), []);
  onReloadSignal(reload, { isOnTerminal: false });
  process.emit("SIGHUP", "SIGHUP");
  assert.equal(reload.mock.callCount(), 1);
});
