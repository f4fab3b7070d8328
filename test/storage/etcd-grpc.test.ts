import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { encodeFrame, FrameReader } from "../../src/storage/etcd/grpc-frames.ts";
import { GrpcError } from "../../src/storage/etcd/grpc-error.ts";

describe("gRPC's messages", () => {
  it("come whole and in order, wherever the stream is cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        (messages, lengths) => {
          const stream = Buffer.concat(messages.map(encodeFrame));
          const reader = new FrameReader();
          const received: Buffer[] = [];
          for (let start = 0, turn = 0; start < stream.length; turn++) {
            const end = start + (lengths[turn % lengths.length] ?? 1);
            received.push(...reader.push(stream.subarray(start, end)));
            start = end;
          }
          assert.deepEqual(received, messages.map(Buffer.from));
        },
      ),
    );
  });

  it("are refused when they are compressed or longer than any page", () => {
    const compressed = Buffer.from([1, 0, 0, 0, 1, 7]);
    const endless = Buffer.from([0, 0xff, 0xff, 0xff, 0xff]);
    for (const frame of [compressed, endless]) {
      assert.throws(() => new FrameReader().push(frame), GrpcError);
    }
  });
});
