import assert from "node:assert/strict";
import { it } from "node:test";
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
