import assert from "node:assert/strict";
import { it } from "node:test";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { controllerQueue } from "../../../src/machinery/loops/controller.ts";
import { TestClock } from "../../features/accounts/tokens/token-scene.ts";
import { loopContext } from "../../run-loop.ts";

it("a loop whose objects all fail says so ten times in ten seconds, and how many others failed", async () => {
  const client = new ApiClient({ send: () => assert.fail("nothing is sent"), close() {} });
  const clock = new TestClock();
  const lines: unknown[] = [];
  const log = { info() {}, error: (fields: object, text: string) => void lines.push({ ...fields, text }) };
  const context = { ...loopContext({ client, clock, log, schedule: () => () => {} }), name: "signing" };
  const queue = controllerQueue(context, {
    reconcile: () => Promise.reject(new Error("the CA is away")),
  });
  for (let index = 0; index < 1000; index++) queue.add(`request-${index}`);
  await queue.whenIdle();
  assert.equal(lines.length, 10);
  const [first] = lines;
  assert.deepEqual(first, { controller: "signing", key: "request-0", error: "the CA is away", text: "will retry" });
  clock.passSeconds(10);
  queue.add("later");
  await queue.whenIdle();
  assert.deepEqual(lines[10], { controller: "signing", failures: 990, text: "more failed than are logged" });
  await queue.stop();
});

it("a loop that comes too late for an object, or finds it changed, tries again and says nothing", async () => {
  const client = new ApiClient({ send: () => assert.fail("nothing is sent"), close() {} });
  const waits: number[] = [];
  const schedule = (_run: () => void, milliseconds: number) => {
    waits.push(milliseconds);
    return () => {};
  };
  const log = { info() {}, error: () => assert.fail("nothing is wrong") };
  const context = { ...loopContext({ client, log, schedule }), name: "signing" };
  const queue = controllerQueue(context, {
    reconcile: (key) => Promise.reject(new ApiError({ code: Number(key), message: "too late" })),
  });
  for (const code of ["404", "409"]) queue.add(code);
  await queue.whenIdle();
  assert.deepEqual(waits, [20, 20]);
  await queue.stop();
});
