import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clientPreface, flags, frameTypes, settingIds } from "../../../src/machinery/http2/protocol.ts";
import type { Http2Stream } from "../../../src/machinery/http2/http2-stream.ts";
import {
  answerLength,
  answerText,
  data,
  encodeFrame,
  FrameClient,
  get,
  headerBlock,
  limits,
  post,
  requestFields,
  reset,
  settings,
  windowUpdate,
} from "./frame-client.ts";
import type { RawFrame } from "./frame-client.ts";

const never = (): void => undefined;

const request = (fields: readonly (readonly [string, string])[]): RawFrame => ({
  type: frameTypes.headers,
  flags: flags.endHeaders | flags.endStream,
  streamId: 1,
  payload: headerBlock(fields),
});
const with_ = (...more: readonly (readonly [string, string])[]): RawFrame =>
  request([...requestFields("GET", "/"), ...more]);
const trailers = (fields: readonly (readonly [string, string])[], { isEnd = true } = {}): RawFrame => ({
  type: frameTypes.headers,
  flags: flags.endHeaders | (isEnd ? flags.endStream : 0),
  streamId: 1,
  payload: headerBlock(fields),
});

const widenedBy = (client: FrameClient, streamId: number): number =>
  client.of("windowUpdate", streamId).reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);

describe("an HTTP/2 session", () => {
  it("answers requests of one connection in any order", async () => {
    const client = new FrameClient(never).open().send(get(1), get(3, "/other"));
    await client.settle();
    assert.deepEqual(
      client.heads.map(({ method, path }) => [method, path]),
      [
        ["GET", "/"],
        ["GET", "/other"],
      ],
    );
    answerText(client.streams[1] as Http2Stream, "second", { "x-order": "2" });
    await client.settle();
    answerText(client.streams[0] as Http2Stream, "first – in UTF-8");
    await client.settle();
    assert.deepEqual(
      client.of("headers").map(({ streamId, headers }) => [streamId, headers]),
      [
        [3, { ":status": "200", "x-order": "2" }],
        [1, { ":status": "200" }],
      ],
    );
    assert.equal(client.body(3), "second");
    assert.equal(Buffer.from(client.body(1), "latin1").toString("utf8"), "first – in UTF-8");
  });

  it("passes repeated headers as an array, and others as they were sent", async () => {
    const client = new FrameClient(never)
      .open()
      .send(with_(["x-group", "a,b"], ["x-group", "c"], ["x-group", "d"], ["x-blank", " v "], ["__proto__", "p"]));
    await client.settle();
    assert.deepEqual(
      { ...client.heads[0]?.headers },
      Object.fromEntries([
        ["x-group", ["a,b", "c", "d"]],
        ["x-blank", " v "],
        ["__proto__", "p"],
      ]),
    );
  });

  it("reads frames in whatever parts they come", async () => {
    const whole = new FrameClient(answerLength).open().send(post(1), data(1, "12345", { isEnd: true }));
    await whole.settle();
    const bytes = Buffer.concat([
      clientPreface,
      ...[settings(), post(1), data(1, "123"), data(1, "45", { isEnd: true })].map(encodeFrame),
    ]);
    const single = new FrameClient(answerLength);
    for (const byte of bytes) single.sendBytes(Buffer.from([byte]));
    await single.settle();
    assert.equal(whole.body(1), "5");
    assert.equal(single.body(1), "5");
  });

  it("receives a body larger than its windows, and replenishes the windows by what it has read, and no more", async () => {
    const client = new FrameClient(answerLength).open().send(post(1));
    const part = Buffer.alloc(16_000);
    let window = 65_535;
    for (let sent = 0; sent < 500_000; sent += part.length) {
      client.send(data(1, part));
      window -= part.length;
      await client.settle();
      for (const streamId of [0, 1]) {
        const left = window + widenedBy(client, streamId);
        assert.ok(left >= part.length && left <= 65_535, `the client may send ${left} bytes of ${streamId}`);
      }
    }
    client.send(data(1, "", { isEnd: true }));
    await client.settle();
    assert.equal(client.body(1), "512000");
  });

  it("sends no more than the client's windows allow, and continues when they grow", async () => {
    const content = "x".repeat(100_000);
    const client = new FrameClient((stream) => answerText(stream, content));
    client.sendBytes(clientPreface).send(settings([settingIds.initialWindowSize, 10]), get(1), get(3));
    await client.settle();
    assert.deepEqual([client.body(1).length, client.body(3).length], [10, 10]);
    client.send(windowUpdate(1, 50_000), windowUpdate(3, 50_000));
    await client.settle();
    assert.equal(client.body(1).length + client.body(3).length, 65_535);
    client.send(settings([settingIds.initialWindowSize, 200_000]), windowUpdate(0, 500_000));
    await client.settle();
    assert.deepEqual([client.body(1), client.body(3)], [content, content]);
    assert.ok(client.of("data").every(({ payload }) => payload.length <= 16_384));
  });

  it("waits when the client makes windows negative", async () => {
    const client = new FrameClient((stream) => answerText(stream, "x".repeat(70_000))).open().send(get(1));
    await client.settle();
    client.send(settings([settingIds.initialWindowSize, 0]), windowUpdate(0, 100_000), windowUpdate(1, 60_000));
    await client.settle();
    assert.equal(client.body(1).length, 65_535);
    client.send(windowUpdate(1, 10_000));
    await client.settle();
    assert.equal(client.body(1).length, 70_000);
  });

  it("lets streams take turns", async () => {
    const client = new FrameClient((stream) => answerText(stream, "x".repeat(60_000)));
    client
      .sendBytes(clientPreface)
      .send(settings([settingIds.initialWindowSize, 1_000_000]), windowUpdate(0, 1_000_000));
    client.send(get(1), get(3));
    await client.settle();
    const order = client.of("data").map(({ streamId }) => streamId);
    assert.deepEqual(order, [1, 3, 1, 3, 1, 3, 1, 3]);
  });

  it("streams a body that is written over time, and ends it", async () => {
    const client = new FrameClient((stream) => stream.startResponse({ status: 200, headers: {} })).open().send(get(1));
    await client.settle();
    const stream = client.streams[0] as Http2Stream;
    for (const part of ["one ", "two ", "three"]) stream.write(Buffer.from(part));
    await client.settle();
    assert.equal(client.body(1), "one two three");
    stream.end();
    await client.settle();
    assert.equal(client.of("data", 1).at(-1)?.isEnd, true);
    stream.write(Buffer.from("late"));
    await client.settle();
    assert.equal(client.body(1), "one two three");
  });

  it("reports how many bytes of a stream wait, while the client uses other streams", async () => {
    const client = new FrameClient((stream) => {
      if (stream.id === 1) stream.startResponse({ status: 200, headers: {} });
      else answerText(stream, "small");
    });
    client.sendBytes(clientPreface).send(settings([settingIds.initialWindowSize, 100]), get(1));
    await client.settle();
    const [stream] = client.streams as [Http2Stream];
    for (let at = 0; at < 1000; at++) stream.write(Buffer.from("0123456789"));
    await client.settle();
    assert.equal(stream.pending.length, 9900);
    client.send(get(3));
    await client.settle();
    assert.equal(client.body(3), "small");
    client.send(windowUpdate(1, 20_000));
    await client.settle();
    assert.equal(client.body(1), "0123456789".repeat(1000));
  });

  it("sends a head that is longer than a frame in several", async () => {
    const long = "v".repeat(40_000);
    const client = new FrameClient((stream) => answerText(stream, "x", { "x-long": long })).open().send(get(1));
    await client.settle();
    const block = client.frames.filter(({ type }) => type === "headers" || type === "continuation");
    assert.deepEqual(
      block.map(({ type }) => type),
      ["headers", "continuation", "continuation"],
    );
    assert.ok(Buffer.concat(block.map(({ payload }) => payload)).includes(long));
    assert.equal(client.body(1), "x");
  });

  it("resets a stream whose answer has a header that HTTP does not allow", async () => {
    for (const value of ["a\r\nb", "\0", "✓"]) {
      const client = new FrameClient((stream) => answerText(stream, "x", { "x-value": value })).open().send(get(1));
      await client.settle();
      assert.equal(client.of("resetStream", 1)[0]?.code, "internalError");
      assert.deepEqual(client.of("headers"), []);
    }
  });

  it("confirms the smallest table to a client that allows a small one", async () => {
    const client = new FrameClient((stream) => answerText(stream, "x"));
    client.sendBytes(clientPreface).send(settings([settingIds.headerTableSize, 0]), get(1), get(3));
    await client.settle();
    assert.deepEqual(
      client.of("headers").map(({ payload }) => payload[0]),
      [0x20, 0x88],
    );
  });

  it("accepts trailers and ignores them", async () => {
    const client = new FrameClient(answerLength).open().send(post(1), data(1, "123"), trailers([["x-group", "admin"]]));
    await client.settle();
    assert.equal(client.body(1), "3");
    assert.equal(client.heads[0]?.headers["x-group"], undefined);
  });

  it("takes a host that is the authority, one without an authority, and an offer of trailers", async () => {
    const fields = requestFields("GET", "/alone").filter(([name]) => name !== ":authority");
    const client = new FrameClient((stream) => answerText(stream, "here"))
      .open()
      .send(with_(["host", "localhost"], ["te", "trailers"]), {
        ...request([...fields, ["host", "localhost"]]),
        streamId: 3,
      });
    await client.settle();
    assert.deepEqual([client.body(1), client.body(3)], ["here", "here"]);
  });

  it("reads a header block that continues in further frames", async () => {
    const block = headerBlock([...requestFields("GET", "/long"), ["x-a", "b"]]);
    const client = new FrameClient(never)
      .open()
      .send(
        { type: frameTypes.headers, flags: flags.endStream, streamId: 1, payload: block.subarray(0, 5) },
        { type: frameTypes.continuation, streamId: 1, payload: block.subarray(5, 9) },
        { type: frameTypes.continuation, flags: flags.endHeaders, streamId: 1, payload: block.subarray(9) },
        get(3, "/next"),
      );
    await client.settle();
    assert.deepEqual(
      client.heads.map(({ path }) => path),
      ["/long", "/next"],
    );
  });

  it("ignores padding, priorities and types that it does not know", async () => {
    const block = Buffer.concat([
      Buffer.from([3]),
      Buffer.alloc(5),
      headerBlock(requestFields("POST", "/")),
      Buffer.alloc(3),
    ]);
    const client = new FrameClient(answerLength).open().send(
      { type: 0xfa, streamId: 7, payload: Buffer.from("?") },
      { type: frameTypes.priority, streamId: 1, payload: Buffer.alloc(5) },
      {
        type: frameTypes.headers,
        flags: flags.endHeaders | flags.padded | flags.priority,
        streamId: 1,
        payload: block,
      },
      {
        type: frameTypes.data,
        flags: flags.padded | flags.endStream,
        streamId: 1,
        payload: Buffer.from([2, 7, 7, 7, 0, 0]),
      },
    );
    await client.settle();
    assert.equal(client.body(1), "3");
  });

  it("answers pings, and acknowledges settings", async () => {
    const client = new FrameClient(never).open().send({ type: frameTypes.ping, payload: Buffer.from("12345678") });
    await client.settle();
    assert.equal(String(client.of("ping")[0]?.payload), "12345678");
    assert.equal(client.of("settings").length, 2);
  });

  it("says how many streams it takes at once, and how many bytes of headers", async () => {
    const client = new FrameClient(never, { concurrentStreams: 7, headerBytes: 5000 }).open();
    await client.settle();
    const said = settings([settingIds.maxConcurrentStreams, 7], [settingIds.maxHeaderListSize, 5000]);
    assert.deepEqual(client.of("settings")[0]?.payload, said.payload);
  });

  it("accepts the default settings, and the largest ones", async () => {
    const client = new FrameClient((stream) => stream.id > 1 && answerText(stream, "content")).open().send(get(1));
    client.send(
      settings([settingIds.enablePush, 1], [settingIds.maxFrameSize, 16_384]),
      settings([settingIds.initialWindowSize, 0x7fff_ffff], [settingIds.maxFrameSize, 0xff_ffff]),
      settings([settingIds.maxConcurrentStreams, 0xffff_ffff], [settingIds.maxHeaderListSize, 0xffff_ffff]),
      get(3),
    );
    await client.settle();
    assert.deepEqual([client.of("goAway"), client.of("resetStream"), client.body(3)], [[], [], "content"]);
  });

  it("refuses streams beyond the limit in a way that lets the client try again", async () => {
    const client = new FrameClient(never, { concurrentStreams: 2 }).open().send(get(1), get(3), get(5));
    await client.settle();
    assert.equal(client.streams.length, 2);
    assert.equal(client.of("resetStream", 5)[0]?.code, "refusedStream");
  });

  it("refuses a request that nobody takes in a way that lets the client try again", async () => {
    const client = new FrameClient((stream) => stream.refuse()).open().send(get(1));
    await client.settle();
    assert.deepEqual(
      client.of("resetStream").map(({ streamId, code }) => [streamId, code]),
      [[1, "refusedStream"]],
    );
  });

  it("after it was closed, accepts no new streams and ends with its last one", async () => {
    const client = new FrameClient(never).open().send(get(1));
    await client.settle();
    client.session.close();
    client.send(get(3), data(3, "x"), reset(3));
    await client.settle();
    assert.equal(client.of("goAway")[0]?.code, "noError");
    assert.equal(client.of("goAway")[0]?.payload.readUInt32BE(0), 1);
    assert.equal(client.streams.length, 1);
    assert.equal(client.isEnded, false);
    answerText(client.streams[0] as Http2Stream, "last");
    await client.ended();
    assert.equal(client.body(1), "last");
  });

  it("reports to its streams that the client has left", async () => {
    let closed = 0;
    const client = new FrameClient((stream) => {
      stream.onClosed = () => closed++;
      stream.readBody({ maximumBytes: 10, whole: never, tooLarge: never, brokenOff: () => (closed += 10) });
    });
    client.open().send(post(1), data(1, "half"));
    await client.settle();
    client.leave();
    await client.settle();
    assert.equal(closed, 11);
  });

  it("sends 100 Continue to a client that expects it, in whichever case", async () => {
    const client = new FrameClient((stream) => {
      if (stream.id === 5) answerText(stream, "no");
      else answerLength(stream);
    });
    client.open().send(post(1, [["expect", "100-Continue"]]), post(3), post(5, [["expect", "100-continue"]]));
    await client.settle();
    client.send(data(1, "123", { isEnd: true }), data(3, "12", { isEnd: true }));
    await client.settle();
    assert.deepEqual(
      client.of("headers").map(({ streamId, headers, isEnd }) => [streamId, headers?.[":status"], isEnd]),
      [
        [1, "100", false],
        [5, "200", false],
        [1, "200", false],
        [3, "200", false],
      ],
    );
    assert.deepEqual([client.body(1), client.body(3), client.body(5)], ["3", "2", "no"]);
  });

  it("reports once to the reader of a body that it is too large", async () => {
    const heard: string[] = [];
    const client = new FrameClient((stream) =>
      stream.readBody({
        maximumBytes: 4,
        whole: () => heard.push("whole"),
        tooLarge: () => heard.push("too large"),
        brokenOff: () => heard.push("broken off"),
      }),
    );
    client.open().send(post(1), data(1, "123"), data(1, "456"), data(1, "789", { isEnd: true }));
    await client.settle();
    assert.deepEqual(heard, ["too large"]);
  });

  describe("resets a stream, and keeps the connection, for", () => {
    const cases: readonly [string, string, readonly RawFrame[]][] = [
      ["a header with a capital letter", "protocolError", [with_(["X-Upper", "1"])]],
      ["a header without a name", "protocolError", [with_(["", "1"])]],
      ["a line feed in a value", "protocolError", [with_(["x-value", "a\nb"])]],
      ["a NUL in a value", "protocolError", [with_(["x-value", "a\0b"])]],
      ["a header of a connection", "protocolError", [with_(["connection", "keep-alive"])]],
      ["a transfer coding", "protocolError", [with_(["transfer-encoding", "chunked"])]],
      ["a TE other than trailers", "protocolError", [with_(["te", "gzip"])]],
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
      ["a host that is not the authority", "protocolError", [with_(["host", "b"])]],
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
      ["a length without a body", "protocolError", [with_(["content-length", "1"])]],
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

  it("gives the connection's window back for bodies that nobody has read, or that are longer than announced", async () => {
    const part = Buffer.alloc(16_000);
    const unread = new FrameClient(never).open();
    const tooLong = new FrameClient(never).open();
    for (let at = 0; at < 20; at++) {
      const id = at * 2 + 1;
      unread.send(post(id), data(id, part));
      tooLong.send(post(id, [["content-length", "1"]]), data(id, part));
      for (const client of [unread, tooLong]) await client.settle();
      answerText(unread.streams[at] as Http2Stream, "no");
      await unread.settle();
    }
    for (const client of [unread, tooLong]) {
      const left = 65_535 - 20 * part.length + widenedBy(client, 0);
      assert.ok(left >= part.length && left <= 65_535, `the client may send ${left} bytes`);
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

  describe("an HTTP/2 session limits", () => {
    const tooMany = (client: FrameClient): Promise<void> =>
      client.ended().then(() => assert.equal(client.of("goAway")[0]?.code, "enhanceYourCalm"));
    const times = (count: number, frame: (at: number) => readonly RawFrame[]): RawFrame[] =>
      Array.from({ length: count }, (_, at) => frame(at)).flat();

    it("streams that the client opens and resets (CVE-2023-44487)", () =>
      tooMany(new FrameClient(never).open().send(...times(60, (at) => [get(at * 2 + 1), reset(at * 2 + 1)]))));

    it("streams that the client opens and resets on a connection that is old", () => {
      const client = new FrameClient(never).open();
      client.seconds += 3600;
      return tooMany(client.send(...times(60, (at) => [get(at * 2 + 1), reset(at * 2 + 1)])));
    });

    it("streams that the client makes the server reset (CVE-2025-8671)", () =>
      tooMany(
        new FrameClient(never).open().send(...times(60, (at) => [get(at * 2 + 1), windowUpdate(at * 2 + 1, 0)])),
      ));

    it("streams beyond the limit", () =>
      tooMany(new FrameClient(never).open().send(...times(80, (at) => [get(at * 2 + 1)]))));

    it("requests that nobody takes", () =>
      tooMany(new FrameClient((stream) => stream.refuse()).open().send(...times(60, (at) => [get(at * 2 + 1)]))));

    it("empty parts of a body (CVE-2019-9518)", () =>
      tooMany(new FrameClient(never).open().send(post(1), ...times(60, () => [data(1, "")]))));

    it("but not the empty parts that end bodies", async () => {
      const client = new FrameClient(answerLength).open();
      for (let at = 0; at < 60; at++) {
        client.send(post(at * 2 + 1), data(at * 2 + 1, "12345"), data(at * 2 + 1, "", { isEnd: true }));
        await client.settle();
      }
      assert.deepEqual([client.of("goAway"), client.body(119)], [[], "5"]);
    });

    it("settings (CVE-2019-9515)", () => tooMany(new FrameClient(never).open().send(...times(60, () => [settings()]))));

    it("priorities (CVE-2019-9513)", () =>
      tooMany(
        new FrameClient(never)
          .open()
          .send(...times(60, () => [{ type: frameTypes.priority, streamId: 1, payload: Buffer.alloc(5) }])),
      ));

    it("answers to pings that it has not sent", () =>
      tooMany(
        new FrameClient(never)
          .open()
          .send(...times(60, () => [{ type: frameTypes.ping, flags: flags.ack, payload: Buffer.alloc(8) }])),
      ));

    it("headers of a stream that it has closed", () =>
      tooMany(
        new FrameClient((stream) => stream.cancel())
          .open()
          .send(get(1), ...times(60, () => [{ ...get(1), flags: flags.endHeaders }])),
      ));

    it("but not the trailers of requests that are answered before they have come", async () => {
      const client = new FrameClient((stream) => stream.respond({ status: 401, headers: {} }, undefined)).open();
      for (let at = 0; at < 60; at++) {
        client.send(post(at * 2 + 1));
        await client.settle();
        client.send({ ...get(at * 2 + 1), payload: headerBlock([["x-trailer", "a"]]) });
      }
      await client.settle();
      assert.deepEqual([client.of("goAway"), client.of("headers").length], [[], 60]);
    });

    it("frames of types that it does not know", () =>
      tooMany(new FrameClient(never).open().send(...times(60, () => [{ type: 0xfa }]))));

    const withoutEnd = (partBytes: number): FrameClient =>
      new FrameClient(never)
        .open()
        .send(
          { ...get(1), flags: 0 },
          ...times(60, () => [{ type: frameTypes.continuation, streamId: 1, payload: Buffer.alloc(partBytes) }]),
        );
    it("a header block without end (CVE-2024-27316)", () => tooMany(withoutEnd(1000)));
    it("a header block without end in empty parts (CVE-2024-27316)", () => tooMany(withoutEnd(0)));

    it("but only within a period of time", async () => {
      const client = new FrameClient(never).open();
      for (let at = 0; at < 60; at++) {
        client.seconds++;
        client.send(get(at * 2 + 1), reset(at * 2 + 1));
        await client.settle();
      }
      assert.deepEqual(client.of("goAway"), []);
    });

    it("but not watches that the client ends, unless it does so before they begin", async () => {
      const begin = (stream: Http2Stream): void => stream.startResponse({ status: 200, headers: {} });
      const client = new FrameClient(begin).open();
      for (let at = 0; at < 60; at++) {
        client.send(get(at * 2 + 1));
        await client.settle();
        client.send(reset(at * 2 + 1));
      }
      await client.settle();
      assert.deepEqual([client.of("goAway"), client.of("headers").length], [[], 60]);
      await tooMany(new FrameClient(begin).open().send(...times(60, (at) => [get(at * 2 + 1), reset(at * 2 + 1)])));
    });

    it("headers, with an answer that says so", async () => {
      const client = new FrameClient((stream, head) =>
        stream.respond({ status: head.isTooLarge ? 431 : 200, headers: {} }, undefined),
      );
      const many = times(1, () => [with_(...Array.from({ length: 30 }, (_, at) => [`x-${at}`, "a"] as const))]);
      client.open().send(...many, { ...with_(["x-long", "a".repeat(5000)]), streamId: 3 }, get(5));
      await client.settle();
      assert.deepEqual(
        client.of("headers").map(({ headers }) => headers?.[":status"]),
        ["431", "431", "200"],
      );
    });

    it("headers that are repeated from the table in one byte each", async () => {
      const stored = headerBlock([["x-long", "a".repeat(3000)]], { isIndexed: true });
      const bomb = Buffer.concat([stored, Buffer.alloc(3000, 0xbe)]);
      const client = new FrameClient(never).open().send({ ...get(1), payload: bomb });
      await client.settle();
      const [head] = client.heads;
      assert.equal(head?.isTooLarge, true);
      assert.deepEqual(Object.keys(head?.headers ?? {}), ["x-long"]);
    });

    it("how much longer than its block a request may be, which repeats a field from the table", async () => {
      const client = new FrameClient(never, { headerBytes: 64 * 1024 }).open();
      const long = headerBlock([["x-long", "a".repeat(3000)]], { isIndexed: true });
      const fields = headerBlock(requestFields("GET", "/"));
      for (const [at, block] of [long, Buffer.alloc(2, 0xbe), Buffer.alloc(3, 0xbe)].entries()) {
        client.send({ ...get(at * 2 + 1), payload: Buffer.concat([fields, block]) });
      }
      await client.settle();
      assert.deepEqual(
        client.heads.map(({ isTooLarge }) => isTooLarge),
        [false, false, true],
      );
    });

    it("answers to pings that the client does not read", async () => {
      const client = new FrameClient(never).open();
      client.pause();
      const ping: RawFrame = { type: frameTypes.ping, payload: Buffer.alloc(8) };
      for (let at = 0; at < 200 && !client.isEnded; at++) {
        client.send(...times(1000, () => [ping]));
        await new Promise(setImmediate);
      }
      await client.settle();
      client.send(get(1));
      await client.settle();
      assert.equal(client.streams.length, 0);
    });

    it("what a client sends after the end of its connection", async () => {
      const client = new FrameClient(never).open().send(get(2));
      await client.ended();
      assert.equal(client.of("goAway")[0]?.code, "protocolError");
      let sentBytes = 0;
      const part = Buffer.alloc(65_536);
      while (!client.isCut && sentBytes < 10_000_000) {
        client.sendBytes(part);
        sentBytes += part.length;
        await client.settle();
      }
      assert.ok(sentBytes > 1_000_000 && sentBytes < 1_200_000, String(sentBytes));
    });

    it("the memory of a request that is answered: nothing of its body", async () => {
      const client = new FrameClient((stream) => stream.id === 1 && answerText(stream, "no"));
      client.open().send(settings([settingIds.initialWindowSize, 0]));
      client.send(post(1), post(3), data(1, "before"), data(3, "before"));
      await client.settle();
      answerText(client.streams[1] as Http2Stream, "no");
      client.send(data(1, "after"), data(3, "after"));
      await client.settle();
      const bodies: string[] = [];
      for (const stream of client.streams) {
        assert.equal(stream.isClosed, false);
        const whole = (body: Buffer): void => void bodies.push(String(body));
        stream.readBody({ maximumBytes: 100, whole, tooLarge: never, brokenOff: never });
        client.send(data(stream.id, "", { isEnd: true }));
      }
      await client.settle();
      assert.deepEqual(bodies, ["", ""]);
    });

    it("the memory of a body in parts of one byte", async () => {
      const client = new FrameClient(never).open().send(post(1));
      client.send(...times(60_000, () => [data(1, "x")]));
      await client.settle();
      let body: Buffer | undefined;
      client.streams[0]?.readBody({
        maximumBytes: 100_000,
        whole: (bytes) => (body = bytes),
        tooLarge: never,
        brokenOff: never,
      });
      client.send(data(1, "y", { isEnd: true }));
      await client.settle();
      assert.equal(body?.length, 60_001);
      assert.ok((body?.buffer.byteLength ?? Infinity) < 200_000);
    });
  });
});
