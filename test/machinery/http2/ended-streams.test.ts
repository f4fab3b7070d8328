import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { describe, it } from "node:test";
import { FrameOutput } from "../../../src/machinery/http2/frame-output.ts";
import type { Http2Stream } from "../../../src/machinery/http2/http2-stream.ts";
import { pingAcknowledgement } from "../../../src/machinery/http2/control-frames.ts";
import { flags, frameTypes } from "../../../src/machinery/http2/protocol.ts";
import { answerText, data, FrameClient, get, headerBlock, limits, post, reset, windowUpdate } from "./frame-client.ts";
import { collectGarbage } from "../../collect-garbage.ts";

const answerNo = (stream: Http2Stream): void => answerText(stream, "no");
const trailers = {
  type: frameTypes.headers,
  flags: flags.endHeaders | flags.endStream,
  streamId: 1,
  payload: headerBlock([["x-trailer", "1"]]),
};

describe("a request that is answered before its body has ended", () => {
  it("may continue for a while, and is then reset without an error", async () => {
    const client = new FrameClient(answerNo).open().send(post(1), data(1, "part"));
    await client.settle();
    assert.equal(client.body(1), "no");
    // curl would lose the answer.
    assert.deepEqual(client.of("resetStream"), []);
    client.seconds = 1;
    client.session.sweep();
    await client.settle();
    assert.deepEqual(client.of("resetStream"), []);
    client.seconds = 2;
    client.session.sweep();
    client.session.sweep();
    await client.settle();
    assert.deepEqual(
      client.of("resetStream").map(({ streamId, code }) => [streamId, code]),
      [[1, "noError"]],
    );
    client.send(data(1, "more"), trailers, reset(1), get(3));
    await client.settle();
    assert.equal(client.body(3), "no");
  });

  it("still gets window updates until then", async () => {
    const client = new FrameClient(answerNo).open().send(post(1));
    await client.settle();
    for (let at = 0; at < 20; at++) client.send(data(1, Buffer.alloc(16_000)));
    client.send(get(3));
    await client.settle();
    assert.equal(client.body(3), "no");
    assert.equal(
      client.of("windowUpdate", 1).reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0),
      320_000,
    );
  });

  for (const [how, end] of Object.entries({ "its last part": data(1, "", { isEnd: true }), trailers, reset: reset(1) }))
    it(`is not reset when the client ends it with ${how}`, async () => {
      const client = new FrameClient(answerNo).open().send(post(1));
      await client.settle();
      client.send(end);
      await client.settle();
      client.seconds = 10;
      client.session.sweep();
      await client.settle();
      assert.deepEqual(client.of("resetStream"), []);
    });

  it("may be reset by the client any number of times", async () => {
    const client = new FrameClient(answerNo).open();
    for (let at = 0; at < limits.emptyFrameBurst * 2; at++) {
      client.send(post(at * 2 + 1));
      await client.settle();
      client.send(reset(at * 2 + 1));
    }
    await client.settle();
    assert.deepEqual(client.of("goAway"), []);
  });

  it("is reset at once when there are too many of its kind", async () => {
    const client = new FrameClient(answerNo).open();
    for (let at = 0; at < 1001; at++) {
      client.send(post(at * 2 + 1));
      if (at % 10 === 9) await client.settle();
    }
    await client.settle();
    assert.deepEqual(
      client.of("resetStream").map(({ streamId }) => streamId),
      [1],
    );
  });
});

describe("a client that reads nothing", () => {
  it("leaves nothing of the streams that it resets in the server's memory", async () => {
    const client = new FrameClient((stream) => answerText(stream, "x".repeat(65_000))).open();
    client.send(windowUpdate(0, 10_000_000));
    client.pause();
    const kept: WeakRef<Http2Stream>[] = [];
    for (let at = 0; at < 20; at++) {
      client.send(get(at * 2 + 1));
      await client.settle();
      client.send(reset(at * 2 + 1));
      await client.settle();
      kept.push(new WeakRef(client.streams.pop() as Http2Stream));
    }
    await client.settle();
    collectGarbage();
    assert.deepEqual(
      kept.filter((stream) => stream.deref() !== undefined),
      [],
    );
  });

  it("keeps no more than the waiting bytes in the server's memory", async () => {
    const written: Buffer[] = [];
    const taken: (() => void)[] = [];
    const socket = new Duplex({
      read: () => undefined,
      write: (bytes: Buffer, _encoding, callback) => {
        written.push(bytes);
        taken.push(callback);
      },
    });
    const output = new FrameOutput({ socket, onAnswered: () => undefined });
    for (let at = 0; at < 3; at++) {
      output.queue(pingAcknowledgement(Buffer.alloc(8, at)));
      output.flush();
    }
    for (let at = 0; at < 3; at++) taken[at]?.();
    assert.deepEqual(
      written.map((bytes) => bytes.at(-1)),
      [0, 1, 2],
    );
    assert.deepEqual(
      written.slice(1).map(({ buffer }) => buffer.byteLength),
      [17, 17],
    );
  });
});

describe("frames that a client does not read", () => {
  it("take at most 64 KiB, and then the connection ends", () => {
    const socket = new Duplex({ read: () => undefined, write: () => undefined });
    const output = new FrameOutput({ socket, onAnswered: () => undefined });
    const ping = pingAcknowledgement(Buffer.alloc(8));
    const most = Math.floor((64 * 1024) / ping.length);
    for (let count = 0; count < most; count++) output.queue(ping);
    assert.equal(socket.destroyed, false);
    output.queue(ping);
    assert.equal(socket.destroyed, true);
  });
});

describe("a fault while one connection writes", () => {
  it("does not leak that connection's bytes to the next one", () => {
    const sent: string[] = [];
    const socketOf = (name: string): Duplex =>
      new Duplex({
        read: () => undefined,
        write: (bytes: Buffer, _encoding, callback) => {
          sent.push(`${name}: ${String(bytes.subarray(9))}`);
          callback();
        },
      });
    const faulty = new FrameOutput({
      socket: socketOf("faulty"),
      onAnswered: () => {
        throw new Error("a bug");
      },
    });
    const other = new FrameOutput({ socket: socketOf("other"), onAnswered: () => undefined });
    const client = new FrameClient(() => undefined);
    client.open().send(get(1));
    return client.settle().then(() => {
      const [stream] = client.streams as [Http2Stream];
      stream.unsentHead = { status: 200, headers: {} };
      stream.isEnding = true;
      faulty.schedule(stream);
      assert.throws(() => faulty.flush(), /a bug/);
      other.queue(pingAcknowledgement(Buffer.from("12345678")));
      other.flush();
      assert.deepEqual(sent, ["other: 12345678"]);
    });
  });
});
