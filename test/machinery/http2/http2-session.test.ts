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
  post,
  requestFields,
  reset,
  settings,
  windowUpdate,
} from "./frame-client.ts";
import { never, request, getWith, trailers, widenedBy } from "./session-frames.ts";

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
      .send(getWith(["x-group", "a,b"], ["x-group", "c"], ["x-group", "d"], ["x-blank", " v "], ["__proto__", "p"]));
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
      .send(getWith(["host", "localhost"], ["te", "trailers"]), {
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
});
