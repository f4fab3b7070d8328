import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { PendingBytes } from "../../../src/machinery/http2/pending-bytes.ts";
import { collectGarbage } from "../../collect-garbage.ts";

const step = fc.oneof(
  fc.record({ type: fc.constant("push" as const), bytes: fc.uint8Array({ maxLength: 20 }) }),
  fc.record({ type: fc.constant("move" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ type: fc.constant("clear" as const) }),
);

test("waiting bytes are taken out in the order in which they came, however they are divided", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const pending = new PendingBytes();
      let expected = Buffer.alloc(0);
      for (const one of steps) {
        if (one.type === "push") {
          pending.push(one.bytes);
          expected = Buffer.concat([expected, one.bytes]);
        } else if (one.type === "clear") {
          pending.clear();
          expected = Buffer.alloc(0);
        } else {
          const length = Math.floor(one.share * expected.length);
          const target = Buffer.alloc(length + 5, 0xee);
          pending.moveTo(target, 3, length);
          assert.deepEqual(target.subarray(3, 3 + length), expected.subarray(0, length));
          assert.deepEqual([...target.subarray(0, 3), ...target.subarray(3 + length)], [0xee, 0xee, 0xee, 0xee, 0xee]);
          expected = expected.subarray(length);
        }
        assert.equal(pending.length, expected.length);
      }
    }),
  );
});

test("parts that were sent are freed: all of them once nothing waits, and else all but the last 64", async () => {
  const pending = new PendingBytes();
  const target = Buffer.alloc(8);
  const parts: WeakRef<Uint8Array>[] = [];
  const push = (): void => {
    const part = new Uint8Array(8);
    parts.push(new WeakRef(part));
    pending.push(part);
  };
  /** How many parts are in memory. */
  const kept = async (): Promise<number> => {
    await turn();
    collectGarbage();
    return parts.filter((part) => part.deref() !== undefined).length;
  };
  push();
  for (let count = 0; count < 1000; count++) {
    push();
    pending.moveTo(target, 0, 8);
  }
  assert.ok((await kept()) <= 64);
  pending.moveTo(target, 0, 8);
  assert.equal(await kept(), 0);
  for (let count = 0; count < 10; count++) {
    push();
    pending.moveTo(target, 0, 8);
  }
  assert.equal(await kept(), 0);
});
