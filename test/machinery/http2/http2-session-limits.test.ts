import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { flags, frameTypes, settingIds } from "../../../src/machinery/http2/protocol.ts";
import type { Http2Stream } from "../../../src/machinery/http2/http2-stream.ts";
import {
  answerLength,
  answerText,
  data,
  FrameClient,
  get,
  headerBlock,
  post,
  requestFields,
  reset,
  settings,
  windowUpdate,
} from "./frame-client.ts";
import type { RawFrame } from "./frame-client.ts";
import { never, getWith } from "./session-frames.ts";

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
    tooMany(new FrameClient(never).open().send(...times(60, (at) => [get(at * 2 + 1), windowUpdate(at * 2 + 1, 0)]))));

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
    const many = times(1, () => [getWith(...Array.from({ length: 30 }, (_, at) => [`x-${at}`, "a"] as const))]);
    client.open().send(...many, { ...getWith(["x-long", "a".repeat(5000)]), streamId: 3 }, get(5));
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
