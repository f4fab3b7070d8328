import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { frameTypes, settingIds } from "../../../src/machinery/http2/protocol.ts";
import { answerLength, answerText, data, FrameClient, get, post, settings, windowUpdate } from "./frame-client.ts";
import type { RawFrame } from "./frame-client.ts";

const valid = fc.oneof(
  fc.integer({ min: 0, max: 20 }).map((at) => get(at * 2 + 1)),
  fc.integer({ min: 0, max: 20 }).map((at) => post(at * 2 + 1)),
  fc
    .tuple(fc.integer({ min: 0, max: 20 }), fc.nat({ max: 300 }), fc.boolean())
    .map(([at, length, isEnd]) => data(at * 2 + 1, Buffer.alloc(length), { isEnd })),
  fc.tuple(fc.nat({ max: 40 }), fc.nat({ max: 100_000 })).map(([streamId, bytes]) => windowUpdate(streamId, bytes)),
);
const random: fc.Arbitrary<RawFrame> = fc.record({
  type: fc.oneof(fc.constantFrom(...Object.values(frameTypes)), fc.nat({ max: 255 })),
  flags: fc.nat({ max: 255 }),
  streamId: fc.nat({ max: 45 }),
  payload: fc.uint8Array({ maxLength: 40 }),
});

describe("whatever frames a client sends, an HTTP/2 session", () => {
  it("continues, or ends with a reason, and closes each stream once", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof({ weight: 5, arbitrary: valid }, { weight: 1, arbitrary: random }), { maxLength: 60 }),
        fc.nat(),
        async (frames, seed) => {
          const opened = new Map<number, number>();
          const client = new FrameClient((stream) => {
            assert.ok(!opened.has(stream.id), "no stream begins twice");
            opened.set(stream.id, 0);
            stream.onClosed = () => opened.set(stream.id, (opened.get(stream.id) ?? 0) + 1);
            if ((stream.id + seed) % 3 === 0) answerText(stream, "x".repeat(100));
            else if ((stream.id + seed) % 3 === 1) answerLength(stream);
          }).open();
          for (const frame of frames) client.send(frame);
          await client.settle();
          assert.ok(!client.isEnded || client.of("goAway").length > 0);
          client.leave();
          await client.settle();
          assert.deepEqual(
            [...opened.values()].filter((times) => times !== 1),
            [],
          );
        },
      ),
      { numRuns: 300 },
    ));

  it("delivers whole answers within the windows of the client", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat({ max: 50_000 }), { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 0, max: 30_000 }),
        fc.array(fc.tuple(fc.nat({ max: 6 }), fc.integer({ min: 1, max: 40_000 })), { maxLength: 30 }),
        async (lengths, initialWindow, updates) => {
          const client = new FrameClient((stream) => answerText(stream, "x".repeat(lengths[(stream.id - 1) / 2] ?? 0)));
          client.open().send(settings([settingIds.initialWindowSize, initialWindow]));
          client.send(...lengths.map((_, at) => get(at * 2 + 1)));
          const windows = new Map<number, number>([[0, 65_535]]);
          for (const at of lengths.keys()) windows.set(at * 2 + 1, initialWindow);
          const widen = async (streamId: number, bytes: number): Promise<void> => {
            windows.set(streamId, (windows.get(streamId) ?? 0) + bytes);
            client.send(windowUpdate(streamId, bytes));
            await client.settle();
            for (const [id, window] of windows) {
              const sent = client
                .of("data", id === 0 ? undefined : id)
                .reduce((sum, { payload }) => sum + payload.length, 0);
              assert.ok(sent <= window, `stream ${id} was sent ${sent} of ${window} bytes`);
            }
          };
          await client.settle();
          for (const [at, bytes] of updates) if (at <= lengths.length) await widen(at === 0 ? 0 : at * 2 - 1, bytes);
          for (const at of lengths.keys()) await widen(at * 2 + 1, 50_000);
          await widen(0, 400_000);
          for (const [at, length] of lengths.entries()) {
            const frames = client.of("data", at * 2 + 1);
            assert.equal(client.body(at * 2 + 1).length, length);
            const last = frames.at(-1) ?? client.of("headers", at * 2 + 1)[0];
            assert.equal(last?.isEnd, true);
            assert.ok(frames.every(({ payload }) => payload.length <= 16_384));
          }
        },
      ),
      { numRuns: 60 },
    ));
});
