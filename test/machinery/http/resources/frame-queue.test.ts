import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import type { ByteSink } from "../../../../src/machinery/api/http-message.ts";
import { FrameQueue } from "../../../../src/machinery/http/resources/frame-queue.ts";

/** A watch whose client takes all that is written to it. */
function watch({ joinsFrames }: { readonly joinsFrames: boolean }) {
  const writes: Uint8Array[] = [];
  const sink: ByteSink = { write: (bytes) => void writes.push(bytes), bufferedBytes: () => 0, end: () => {} };
  const queue = new FrameQueue({ sink, joinsFrames });
  return { queue, writes, text: () => Buffer.concat(writes).toString("latin1") };
}

/** The events of one watch, of all lengths: many short ones, and some that are longer than what a turn sends. */
const frames = Array.from({ length: 200 }, (_, count) =>
  Buffer.from(`${count}${"x".repeat(count % 100 === 50 ? 1_200_000 : (count * 997) % 20_000)}\n`),
);
const all = Buffer.concat(frames).toString("latin1");

async function untilSent(...watches: readonly Pick<ReturnType<typeof watch>, "queue">[]): Promise<void> {
  while (watches.some(({ queue }) => queue.waitingBytes > 0)) await turn();
}

describe("the events of watches", { timeout: 60_000 }, () => {
  it("come whole and in order when they take many turns of the event loop, and new ones come meanwhile", async () => {
    const watches = Array.from({ length: 20 }, () => watch({ joinsFrames: true }));
    for (const [count, frame] of frames.entries()) {
      for (const { queue } of watches) queue.add(frame);
      if (count % 50 === 0) await turn();
    }
    await untilSent(...watches);
    for (const { text } of watches) assert.ok(text() === all);
  });

  it("reach only the watches that they are for, also when the watches have other events in common", () => {
    const shared = ["a", "b", "c", "d"].map((text) => Buffer.from(text));
    const chosen = fc.array(fc.subarray(shared), { minLength: 2, maxLength: 10 });
    return fc.assert(
      fc.asyncProperty(chosen, async (framesOfWatches) => {
        const watches = framesOfWatches.map(() => watch({ joinsFrames: true }));
        for (const [at, { queue }] of watches.entries()) framesOfWatches[at]?.forEach((frame) => queue.add(frame));
        await untilSent(...watches);
        assert.deepEqual(
          watches.map(({ text }) => text()),
          framesOfWatches.map((own) => own.join("")),
        );
      }),
    );
  });

  it("are joined to writes of at most 64 KiB, unless one event is longer", async () => {
    const { queue, writes } = watch({ joinsFrames: true });
    for (const frame of frames) queue.add(frame);
    await untilSent({ queue });
    const long = frames.filter(({ length }) => length > 64 * 1024);
    assert.ok(writes.length < frames.length / 2);
    assert.deepEqual(
      writes.filter(({ length }) => length > 64 * 1024),
      long,
    );
  });

  it("are a write each for a client that needs them apart", async () => {
    const one = watch({ joinsFrames: false });
    for (const frame of frames) one.queue.add(frame);
    await untilSent(one);
    assert.deepEqual(one.writes, frames);
  });

  it("let other work run after each mebibyte of one watch", async () => {
    const one = watch({ joinsFrames: true });
    const short = frames.filter(({ length }) => length <= 64 * 1024);
    for (const frame of short) one.queue.add(frame);
    for (let before = 0; one.queue.waitingBytes > 0; before = one.text().length) {
      await turn();
      const sent = one.text().length - before;
      assert.ok(sent > 0 && sent < 1024 * 1024 + 64 * 1024);
    }
  });
});
