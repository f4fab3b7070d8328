import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { FrameInput } from "../../../src/machinery/http2/frame-input.ts";
import { HeaderDecoder } from "../../../src/machinery/http2/header-decoder.ts";
import { flags, frameTypes } from "../../../src/machinery/http2/protocol.ts";
import { FrameWriter } from "../../../src/machinery/http2/frame-writer.ts";

const bufferBytes = 64 * 1024;

it("a writer of frames keeps at most two mebibytes for later, whatever it has written at once", () => {
  const writer = new FrameWriter();
  /** Writes frames to sockets that take none of them before the last one. Returns the memory in which they are. */
  const write = (frames: readonly Buffer[]): Set<ArrayBufferLike> => {
    const memory = new Set<ArrayBufferLike>();
    const written: (() => void)[] = [];
    writer.begin(({ buffer }, onWritten) => {
      memory.add(buffer);
      written.push(onWritten);
    });
    for (const frame of frames) writer.frame(frame);
    writer.flush();
    for (const onWritten of written) onWritten();
    return memory;
  };
  const short = Array.from({ length: 128 }, () => Buffer.alloc(bufferBytes));
  const long = Array.from({ length: 64 }, () => Buffer.alloc(4 * bufferBytes));
  const before = write([...long, ...short]);
  const after = write(short);
  const kept = [...after].filter((buffer) => before.has(buffer)).reduce((sum, { byteLength }) => sum + byteLength, 0);
  // Beside the buffers for later, the writer has the one that it writes to.
  assert.equal(kept, 2 * 1024 * 1024 + bufferBytes);
});

const value = fc.oneof(fc.nat(20), fc.nat(300), fc.nat(40_000)).map((length) => "v".repeat(length));
const answer = fc.record({
  status: fc.constantFrom(200, 201, 404, 418),
  headers: fc.dictionary(
    fc.constantFrom("content-type", "warning", "x-other"),
    fc.oneof(value, fc.array(value, { maxLength: 3 })),
  ),
  content: fc.oneof(fc.nat(20), fc.nat(16_384)).map((length) => "c".repeat(length)),
});

it("answers are read as they were written, wherever the buffers of the writer end", () => {
  fc.assert(
    fc.property(fc.array(answer, { maxLength: 30 }), (answers) => {
      const writer = new FrameWriter();
      const sent: Buffer[] = [];
      writer.begin((bytes, onWritten) => {
        sent.push(Buffer.from(bytes));
        onWritten();
      });
      for (const [count, { content, ...head }] of answers.entries()) {
        const streamId = count * 2 + 1;
        writer.headers(head, { streamId, isEnd: false, isFirst: count === 0 });
        writer.data(content, { streamId, byteLength: content.length });
      }
      writer.flush();
      const decoder = new HeaderDecoder();
      const received: string[] = [];
      let block: Buffer[] = [];
      new FrameInput({ from: "server" }).read(Buffer.concat(sent), ({ type, flags: frameFlags, streamId, payload }) => {
        if (type === frameTypes.data) received.push(`${streamId} ${payload.toString()}`);
        else block.push(payload);
        if (type === frameTypes.data || (frameFlags & flags.endHeaders) === 0) return true;
        const add = (name: string, text: string): void => void received.push(`${streamId} ${name}: ${text}`);
        decoder.decode(Buffer.concat(block), { add, addInvalid: () => assert.fail("a header is invalid") });
        block = [];
        return true;
      });
      const expected = answers.flatMap(({ status, headers, content }, count) =>
        [
          `:status: ${status}`,
          ...Object.entries(headers).flatMap(([name, values]) => [values].flat().map((one) => `${name}: ${one}`)),
          content,
        ].map((line) => `${count * 2 + 1} ${line}`),
      );
      assert.deepEqual(received, expected);
    }),
  );
});
