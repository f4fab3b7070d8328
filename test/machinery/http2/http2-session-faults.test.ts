import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clientPreface, flags, frameTypes, settingIds } from "../../../src/machinery/http2/protocol.ts";
import type { Http2Stream } from "../../../src/machinery/http2/http2-stream.ts";
import {
  answerText,
  data,
  FrameClient,
  get,
  limits,
  post,
  requestFields,
  reset,
  settings,
  windowUpdate,
} from "./frame-client.ts";
import type { RawFrame } from "./frame-client.ts";
import { never, request, getWith, trailers, widenedBy } from "./session-frames.ts";

describe("an HTTP/2 session", () => {
  describe("resets a stream, and keeps the connection, for", () => {
    const cases: readonly [string, string, readonly RawFrame[]][] = [
      ["a header with a capital letter", "protocolError", [getWith(["X-Upper", "1"])]],
      ["a header without a name", "protocolError", [getWith(["", "1"])]],
      ["a line feed in a value", "protocolError", [getWith(["x-value", "a\nb"])]],
      ["a NUL in a value", "protocolError", [getWith(["x-value", "a\0b"])]],
      ["a header of a connection", "protocolError", [getWith(["connection", "keep-alive"])]],
      ["a transfer coding", "protocolError", [getWith(["transfer-encoding", "chunked"])]],
      ["a TE other than trailers", "protocolError", [getWith(["te", "gzip"])]],
      ["a pseudo-header after a header", "protocolError", [request([["x-a", "b"], ...requestFields("GET", "/")])]],
      [
        "a pseudo-header that it does not know",
        "protocolError",
        [request([...requestFields("GET", "/"), [":x", "y"]])],
      ],
      ["a pseudo-header of an answer", "protocolError", [request([...requestFields("GET", "/"), [":status", "200"]])]],
      ["a second method", "protocolError", [request([...requestFields("GET", "/"), [":method", "POST"]])]],
      ["a second scheme", "protocolError", [request([...requestFields("GET", "/"), [":scheme", "http"]])]],
      ["a second path", "protocolError", [request([...requestFields("GET", "/"), [":path", "/b"]])]],
      ["a second authority", "protocolError", [request([...requestFields("GET", "/"), [":authority", "b"]])]],
      ["a host that is not the authority", "protocolError", [getWith(["host", "b"])]],
      [
        "an authority with a user name",
        "protocolError",
        [request([...requestFields("GET", "/").slice(0, 3), [":authority", "a@b"]])],
      ],
      ["an empty path", "protocolError", [request(requestFields("GET", ""))]],
      ["no path", "protocolError", [request(requestFields("GET", "/").filter(([name]) => name !== ":path"))]],
      ["an empty method", "protocolError", [request(requestFields("", "/"))]],
      ["a method with a blank", "protocolError", [request(requestFields("GET /a", "/"))]],
      ["no method", "protocolError", [request(requestFields("GET", "/").filter(([name]) => name !== ":method"))]],
      [
        "a tunnel with a path",
        "protocolError",
        [request(requestFields("CONNECT", "/").filter(([name]) => name !== ":scheme"))],
      ],
      [
        "a tunnel with a scheme",
        "protocolError",
        [request(requestFields("CONNECT", "/").filter(([name]) => name !== ":path"))],
      ],
      ["no scheme", "protocolError", [request(requestFields("GET", "/").filter(([name]) => name !== ":scheme"))]],
      ["a length that is no number", "protocolError", [post(1, [["content-length", "1e3"]])]],
      ["two lengths", "protocolError", [post(1, [["content-length", "1"], ["content-length", "1"]])]], // oxfmt-ignore
      ["a length without a body", "protocolError", [getWith(["content-length", "1"])]],
      ["a body that is longer than its length", "protocolError", [post(1, [["content-length", "2"]]), data(1, "123")]],
      [
        "a body that is shorter than its length",
        "protocolError",
        [post(1, [["content-length", "4"]]), data(1, "123", { isEnd: true })],
      ],
      [
        "a body shorter than its length, with trailers",
        "protocolError",
        [post(1, [["content-length", "4"]]), trailers([])],
      ],
      ["trailers that do not end it", "protocolError", [post(1), trailers([], { isEnd: false })]],
      ["trailers with a pseudo-header", "protocolError", [post(1), trailers([[":path", "/"]])]],
      ["trailers with a capital letter", "protocolError", [post(1), trailers([["X-Upper", "1"]])]],
      ["a body after its end", "streamClosed", [get(1), data(1, "late")]],
      ["headers after its end", "streamClosed", [get(1), trailers([])]],
      ["a window that is widened by nothing", "protocolError", [get(1), windowUpdate(1, 0)]],
      ["a window that is too wide", "flowControlError", [get(1), windowUpdate(1, 0x7fff_ffff)]],
      [
        "a priority of itself",
        "protocolError",
        [get(1), { type: frameTypes.priority, streamId: 1, payload: Buffer.from([0, 0, 0, 1, 0]) }],
      ],
    ];
    for (const [fault, code, frames] of cases) {
      it(fault, async () => {
        const client = new FrameClient((stream) => stream.id > 1 && answerText(stream, "still here"));
        client.open().send(...frames, get(3));
        await client.settle();
        assert.deepEqual(
          client.of("resetStream").map((frame) => [frame.streamId, frame.code]),
          [[1, code]],
        );
        assert.equal(client.body(3), "still here");
        assert.ok(client.streams.every(({ id, isClosed }) => id !== 1 || isClosed));
      });
    }
  });

  it("takes the rest of a request that it has refused, and window updates of what is answered, for no fault", async () => {
    const client = new FrameClient(never).open();
    const ids = Array.from({ length: limits.concurrentStreams + 1 }, (_, at) => at * 2 + 1);
    client.send(...ids.map((id) => post(id)));
    await client.settle();
    const refused = ids.at(-1) ?? 0;
    assert.deepEqual(
      client.of("resetStream").map(({ streamId, code }) => [streamId, code]),
      [[refused, "refusedStream"]],
    );
    client.send(data(refused, "x"), windowUpdate(refused, 10));
    answerText(client.streams[0] as Http2Stream, "first");
    await client.settle();
    client.send(windowUpdate(1, 10));
    answerText(client.streams[1] as Http2Stream, "second");
    await client.settle();
    assert.deepEqual([client.body(1), client.body(3), client.of("goAway")], ["first", "second", []]);
  });

  it("resets a stream for more than its window, when the connection's has room", async () => {
    const client = new FrameClient((stream) => {
      if (stream.id === 3) answerText(stream, "x");
      else stream.readBody({ maximumBytes: 1, whole: never, tooLarge: never, brokenOff: never });
    });
    const part = Buffer.alloc(16_000);
    client.open().send(post(1), post(3));
    await client.settle();
    // What nobody waits for is given back to the connection alone.
    client.send(data(1, part), data(3, part), data(3, part), data(1, part), data(1, part), data(1, part));
    await client.settle();
    assert.deepEqual([widenedBy(client, 0), client.of("resetStream")], [48_000, []]);
    client.send(data(1, part));
    await client.settle();
    assert.deepEqual(
      client.of("resetStream").map(({ streamId, code }) => [streamId, code]),
      [[1, "flowControlError"]],
    );
    assert.deepEqual(client.of("goAway"), []);
  });

  describe("ends the connection, and says why, for", () => {
    const cases: readonly [string, string, readonly RawFrame[]][] = [
      ["a frame that is too large", "frameSizeError", [data(1, Buffer.alloc(16_385))]],
      ["a body of the connection", "protocolError", [data(0, "x")]],
      ["a body of a stream that is not open", "protocolError", [data(1, "x")]],
      ["a stream with an even number", "protocolError", [get(2)]],
      ["a number that was used before", "streamClosed", [get(5), reset(5), get(3)]],
      ["a body after the client's reset", "streamClosed", [post(1), reset(1), data(1, "x")]],
      [
        "padding that is longer than its frame",
        "protocolError",
        [post(1), { ...data(1, "\x09abc"), flags: flags.padded }],
      ],
      ["a padded frame without its length", "frameSizeError", [post(1), { ...data(1, ""), flags: flags.padded }]],
      [
        "headers that depend on themselves",
        "protocolError",
        [{ ...get(1), flags: 0x25, payload: Buffer.from([0, 0, 0, 1, 0, 0x82]) }],
      ],
      ["headers without their priority", "frameSizeError", [{ ...get(1), flags: 0x25, payload: Buffer.alloc(4) }]],
      ["another frame within a header block", "protocolError", [{ ...get(1), flags: 0 }, settings()]],
      [
        "a continuation of another stream",
        "protocolError",
        [
          { ...get(1), flags: 0 },
          { type: frameTypes.continuation, streamId: 3 },
        ],
      ],
      [
        "headers of a stream whose header block has not ended",
        "protocolError",
        [{ ...get(1), flags: flags.endStream }, get(1)],
      ],
      ["headers of no stream", "protocolError", [get(0)]],
      [
        "a priority of no stream",
        "protocolError",
        [{ type: frameTypes.priority, payload: Buffer.from([0, 0, 0, 1, 0]) }],
      ],
      ["a continuation of nothing", "protocolError", [{ type: frameTypes.continuation, streamId: 1 }]],
      ["an index beyond the table", "compressionError", [{ ...get(1), payload: Buffer.from([0xff, 0x7f]) }]],
      ["the index 0", "compressionError", [{ ...get(1), payload: Buffer.from([0x80]) }]],
      [
        "an integer that is too large",
        "compressionError",
        [{ ...get(1), payload: Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]) }],
      ],
      ["a string that is longer than its block", "compressionError", [{ ...get(1), payload: Buffer.from([0, 5, 97]) }]],
      [
        "a table that is larger than allowed",
        "compressionError",
        [{ ...get(1), payload: Buffer.from([0x3f, 0xff, 0x7f]) }],
      ],
      ["a table size after a field", "compressionError", [{ ...get(1), payload: Buffer.from([0x82, 0x20]) }]],
      ["settings of a stream", "protocolError", [{ ...settings(), streamId: 1 }]],
      ["half a setting", "frameSizeError", [{ type: frameTypes.settings, payload: Buffer.alloc(5) }]],
      ["an acknowledgement with settings", "frameSizeError", [{ ...settings([1, 1]), flags: flags.ack }]],
      ["a push setting of 2", "protocolError", [settings([settingIds.enablePush, 2])]],
      [
        "a window setting that is too large",
        "flowControlError",
        [settings([settingIds.initialWindowSize, 0x8000_0000])],
      ],
      ["a frame size setting that is too large", "protocolError", [settings([settingIds.maxFrameSize, 0x100_0000])]],
      ["a frame size setting that is too small", "protocolError", [settings([settingIds.maxFrameSize, 16_383])]],
      ["a push", "protocolError", [{ type: frameTypes.pushPromise, streamId: 1, payload: Buffer.alloc(4) }]],
      ["a ping of a stream", "protocolError", [{ type: frameTypes.ping, streamId: 1, payload: Buffer.alloc(8) }]],
      ["a short ping", "frameSizeError", [{ type: frameTypes.ping, payload: Buffer.alloc(7) }]],
      ["a GOAWAY of a stream", "protocolError", [{ type: frameTypes.goAway, streamId: 1, payload: Buffer.alloc(8) }]],
      ["a short GOAWAY", "frameSizeError", [{ type: frameTypes.goAway, payload: Buffer.alloc(7) }]],
      ["a reset of the connection", "protocolError", [reset(0)]],
      ["a reset of a stream that is not open", "protocolError", [reset(1)]],
      ["a short reset", "frameSizeError", [get(1), { ...reset(1), payload: Buffer.alloc(3) }]],
      ["a priority of the connection", "protocolError", [{ type: frameTypes.priority, payload: Buffer.alloc(5) }]],
      ["a short priority", "frameSizeError", [{ type: frameTypes.priority, streamId: 1, payload: Buffer.alloc(4) }]],
      ["a window of the connection that is widened by nothing", "protocolError", [windowUpdate(0, 0)]],
      ["a window of the connection that is too wide", "flowControlError", [windowUpdate(0, 0x7fff_ffff)]],
      ["a short window update", "frameSizeError", [{ ...windowUpdate(0, 1), payload: Buffer.alloc(3) }]],
      ["a window of a stream that is not open", "protocolError", [windowUpdate(1, 1)]],
      [
        "more than the connection's window",
        "flowControlError",
        [post(1), ...Array.from({ length: 5 }, () => data(1, Buffer.alloc(16_000)))],
      ],
    ];
    for (const [fault, code, frames] of cases) {
      it(fault, async () => {
        const client = new FrameClient(never).open().send(...frames);
        await client.ended();
        assert.equal(client.of("goAway")[0]?.code, code);
        assert.ok(client.streams.every(({ isClosed }) => isClosed));
      });
    }

    it("a first line that is not HTTP/2's, as soon as it is seen", async () => {
      const client = new FrameClient(never).sendBytes(Buffer.from("GET"));
      await client.ended();
      assert.equal(client.of("goAway")[0]?.code, "protocolError");
    });

    it("requests before settings", async () => {
      const client = new FrameClient(never).sendBytes(clientPreface).send(get(1));
      await client.ended();
      assert.deepEqual([client.of("goAway")[0]?.code, client.streams.length], ["protocolError", 0]);
    });
  });
});
