import assert from "node:assert/strict";
import { test } from "node:test";
import { AgentEvents } from "../../src/agent/agent-events.ts";
import type { AgentEvent } from "../../src/agent/agent-events.ts";
import { eventually } from "../end-to-end/eventually.ts";
import { logTo } from "./log-to.ts";

/** Delivers signals as Node.js does after it was busy: in one turn of the event loop, with all that is ready in between. */
async function deliver(signal: NodeJS.Signals, count: number): Promise<void> {
  for (let delivered = 0; delivered < count; delivered++) {
    process.emit(signal, signal);
    for (let ready = 0; ready < 20; ready++) await Promise.resolve();
  }
}

test("the settings are read again once for signals that have come together, and again for a later one", async (context) => {
  const events = new AgentEvents(
    { first: [], load: () => [] },
    logTo(() => {}),
  );
  context.after(() => events.close());
  const seen: AgentEvent[] = [];
  void (async () => {
    for (;;) seen.push(await events.next());
  })();
  const reload = { reason: "reload", why: "SIGHUP" };
  await deliver("SIGHUP", 3);
  await eventually("the event", () => seen.length > 0);
  assert.deepEqual(seen, [reload]);
  await deliver("SIGHUP", 1);
  await eventually("the next event", () => seen.length > 1);
  assert.deepEqual(seen, [reload, reload]);
});
