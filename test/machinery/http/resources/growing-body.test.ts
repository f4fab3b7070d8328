import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { noBytes } from "../../../../src/machinery/api/bytes/no-bytes.ts";
import { GrowingBody } from "../../../../src/machinery/http/resources/growing-body.ts";
import { LongWork } from "../../../../src/machinery/scheduling/long-work.ts";

const around = [Buffer.from("head "), Buffer.from(" tail")] as const;

async function bodyOf(parts: readonly (string | Buffer)[]): Promise<Buffer> {
  const body = new GrowingBody({ work: new LongWork(), headBytes: 10 });
  let made = 0;
  for (const part of parts) await body.add(part, ++made / parts.length);
  assert.equal(
    body.length,
    parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0),
  );
  return await body.finish(around);
}

describe("a growing body", () => {
  it("has its head, all parts in order, and its tail, whatever their lengths are", async () => {
    const part = fc
      .tuple(fc.constantFrom("a", "é", "€", "𝄞"), fc.integer({ min: 0, max: 400_000 }))
      .map(([letter, count]) => letter.repeat(count));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(part, fc.boolean()), { maxLength: 12 }), async (made) => {
        const parts = made.map(([text, isText]) => (isText ? text : Buffer.from(text)));
        const whole = Buffer.concat([around[0], ...made.map(([text]) => Buffer.from(text)), around[1]]);
        assert.ok((await bodyOf(parts)).equals(whole));
      }),
      { numRuns: 30 },
    );
  });

  it("takes the room of the whole body in a few steps, by the length of its first parts", async () => {
    const body = new GrowingBody({ work: new LongWork(), headBytes: 0 });
    const part = Buffer.alloc(300_000, "x");
    const growths: number[] = [];
    for (let made = 1; made <= 100; made++) {
      const growth = body.add(part, made / 100);
      if (growth !== undefined) growths.push(made);
      await growth;
    }
    assert.deepEqual(growths, [1, 2, 17]);
    assert.equal((await body.finish([noBytes, noBytes])).length, 100 * part.length);
  });

  it("takes little more room than it needs when it is short", async () => {
    const body = new GrowingBody({ work: new LongWork(), headBytes: 0 });
    for (let made = 1; made <= 60; made++) await body.add(Buffer.alloc(500, "x"), made / 60);
    const whole = await body.finish([noBytes, noBytes]);
    assert.equal(whole.length, 30_000);
    assert.ok(whole.buffer.byteLength <= 64 * 1024);
  });

  it("takes little more room than it needs when its first part is much longer than the others", async () => {
    const body = new GrowingBody({ work: new LongWork(), headBytes: 0 });
    await body.add(Buffer.alloc(1_500_000, "x"), 1 / 1_000_000);
    await body.add("y", 1);
    const whole = await body.finish([noBytes, noBytes]);
    assert.equal(whole.length, 1_500_001);
    assert.ok(whole.buffer.byteLength <= 8 * 1024 * 1024);
  });
});
