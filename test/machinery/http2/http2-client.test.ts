import assert from "node:assert/strict";
import { once } from "node:events";
import { performServerHandshake } from "node:http2";
import type { IncomingHttpHeaders, ServerHttp2Stream, Settings } from "node:http2";
import { duplexPair } from "node:stream";
import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { Http2Client } from "../../../src/machinery/http2/http2-client.ts";
import type { StreamFailure } from "../../../src/machinery/http2/http2-client-stream.ts";
import type { HeaderFields } from "../../../src/machinery/http2/request-header-encoder.ts";
import { errorCodes, flags, frameTypes, settingIds } from "../../../src/machinery/http2/protocol.ts";
import { encodeFrame, headerBlock, number32, reset, settings } from "./frame-client.ts";
import type { RawFrame } from "./frame-client.ts";

const head = (path: string, fields: HeaderFields = []): HeaderFields => [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", path],
  [":authority", "localhost"],
  ...fields,
];

interface Answer {
  readonly fields: Record<string, string>;
  readonly body: Buffer;
  readonly failure: StreamFailure | undefined;
}

/** Sends a request, and resolves when its answer has ended in whatever way. */
function send(client: Http2Client, { fields = head("/x"), body = Buffer.alloc(0) } = {}): Promise<Answer> {
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    const receivedFields: Record<string, string> = {};
    const stream = client.open(fields, {
      add: (name, value) => (receivedFields[name] = value),
      addInvalid: () => (receivedFields["invalid"] = "yes"),
      onData: (data) => received.push(Buffer.from(data)),
      onEnd: (failure) => resolve({ fields: receivedFields, body: Buffer.concat(received), failure }),
    });
    stream.write(body);
    stream.end();
  });
}

async function connect(
  socket: Duplex,
  windowBytes = 2 ** 20,
): Promise<{ client: Http2Client; closed: Promise<Error> }> {
  const closed = Promise.withResolvers<Error>();
  const client = await new Promise<Http2Client>((resolve, reject) => {
    const connecting: Http2Client = new Http2Client({
      ...{ socket, windowBytes, nowSeconds: () => 0 },
      onReady: () => resolve(connecting),
      onClosed: (cause) => {
        closed.resolve(cause);
        reject(cause);
      },
    });
  });
  return { client, closed: closed.promise };
}

/** A client of Node.js' own server, which `onStream` answers. */
async function withServer(
  serverSettings: Settings,
  onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
  windowBytes?: number,
): Promise<Http2Client> {
  const [near, far] = duplexPair();
  const session = performServerHandshake(far, { settings: serverSettings });
  session.on("error", () => {});
  session.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on("error", () => {});
    onStream(stream, headers);
  });
  const { client } = await connect(near, windowBytes);
  return client;
}

/** A client of a server that is only frames. */
async function withFrames(...first: readonly RawFrame[]): Promise<{
  client: Http2Client;
  closed: Promise<Error>;
  answer(...frames: readonly RawFrame[]): void;
  far: Duplex;
}> {
  const [near, far] = duplexPair();
  far.resume();
  const answer = (...frames: readonly RawFrame[]): void => void far.write(Buffer.concat(frames.map(encodeFrame)));
  answer(settings(), ...first);
  return { ...(await connect(near)), answer, far };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await nextTurn();
};

describe("an HTTP/2 client", () => {
  it("sends and receives whole bodies, whatever the windows and the limit of concurrent requests", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 120_000 }), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1_000, max: 100_000 }),
        async (lengths, maxConcurrentStreams, initialWindowSize) => {
          let open = 0;
          const client = await withServer(
            { maxConcurrentStreams, initialWindowSize },
            (stream, headers) => {
              open += 1;
              assert.ok(open <= maxConcurrentStreams);
              stream.once("close", () => (open -= 1));
              stream.respond({ path: headers[":path"] });
              void buffer(stream).then((body) => stream.end(body));
            },
            70_000,
          );
          const answers = await Promise.all(
            lengths.map((length, at) => send(client, { fields: head(`/${at}`), body: Buffer.alloc(length, at) })),
          );
          for (const [at, { body, failure, fields }] of answers.entries()) {
            assert.equal(failure, undefined);
            assert.equal(fields["path"], `/${at}`);
            assert.ok(body.equals(Buffer.alloc(lengths[at] ?? 0, at)));
          }
          client.destroy();
        },
      ),
      { numRuns: 20 },
    );
  });

  it("sends the same fields whatever its table holds, and whatever table the server allows", async () => {
    const fields = fc.array(
      fc.tuple(fc.constantFrom("x-a", "x-b", "content-type"), fc.stringMatching(/^[!-~]{1,400}$/)),
      { maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fields, { maxLength: 25 }),
        fc.constantFrom(0, 100, 4096, 65_536),
        async (all, size) => {
          const client = await withServer({ headerTableSize: size }, (stream, headers) => {
            const { ":path": path, ...rest } = headers;
            stream.respond({ path });
            stream.end(JSON.stringify(rest));
          });
          for (const one of all) {
            const unique = [...new Map(one)];
            const request = head("/fields", unique);
            // The second time, what fitted into the table is an index.
            for (let time = 0; time < 2; time++) {
              const { body, failure } = await send(client, { fields: request });
              assert.equal(failure, undefined);
              const received = JSON.parse(body.toString()) as Record<string, string>;
              for (const [name, value] of unique) assert.equal(received[name], value);
            }
          }
          client.destroy();
        },
      ),
      { numRuns: 15 },
    );
  });

  it("passes trailers on as fields", async () => {
    const client = await withServer({}, (stream) => {
      stream.respond({}, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end("body");
    });
    const { fields, body } = await send(client);
    assert.equal(fields["grpc-status"], "0");
    assert.equal(body.toString(), "body");
    client.destroy();
  });

  it("refuses a field with a character that HTTP does not allow before it is sent", async () => {
    const client = await withServer({}, () => {});
    assert.throws(
      () => client.open(head("/x\r\ny: z"), { add() {}, addInvalid() {}, onData() {}, onEnd() {} }),
      TypeError,
    );
    assert.throws(
      () => client.open(head("/x", [["a b", ""]]), { add() {}, addInvalid() {}, onData() {}, onEnd() {} }),
      TypeError,
    );
    client.destroy();
  });

  it("distinguishes requests that a leaving server has not started from those that it may have started", async () => {
    const { client, closed, answer } = await withFrames();
    const [first, second] = [send(client), send(client)];
    await turns();
    const payload = Buffer.from([0, 0, 0, 1, 0, 0, 0, 0]); // the last stream is the first request's
    answer({ type: frameTypes.goAway, payload });
    assert.equal((await second).failure?.isUnprocessed, true);
    assert.equal(client.isOpen, false);
    assert.equal((await send(client)).failure?.isUnprocessed, true);
    answer({
      type: frameTypes.headers,
      flags: flags.endHeaders | flags.endStream,
      streamId: 1,
      payload: headerBlock([[":status", "200"]]),
    });
    assert.equal((await first).failure, undefined);
    await closed; // nothing is left to wait for
  });

  it("distinguishes a request that the server has refused from one that it gave up", async () => {
    const { client, answer } = await withFrames();
    const [refused, givenUp] = [send(client), send(client)];
    await turns();
    answer({ ...reset(1), payload: number32(errorCodes.refusedStream) }, reset(3));
    const [one, other] = [(await refused).failure, (await givenUp).failure];
    assert.deepEqual([one?.isUnprocessed, other?.isUnprocessed], [true, false]);
    assert.match(other?.cause.message ?? "", /code 8/);
    client.destroy();
  });

  it("sends what waits once the server widens its windows, and takes more requests", async () => {
    const one = settings([settingIds.initialWindowSize, 0], [settingIds.maxConcurrentStreams, 1]);
    const { client, answer, far } = await withFrames(one);
    let sent = "";
    far.on("data", (bytes: Buffer) => (sent += bytes.toString("latin1")));
    const requests = ["first body", "second body"].map((body) => send(client, { body: Buffer.from(body) }));
    await turns();
    assert.doesNotMatch(sent, /body/);
    answer(settings([settingIds.initialWindowSize, 100]));
    await turns();
    assert.match(sent, /first body/);
    assert.doesNotMatch(sent, /second body/);
    answer(settings([settingIds.maxConcurrentStreams, 2]));
    await turns();
    assert.match(sent, /second body/);
    client.destroy();
    await Promise.all(requests);
  });

  it("sends no more of a request whose answer is whole", async () => {
    const { client, answer, far } = await withFrames();
    let sent = "";
    far.on("data", (bytes: Buffer) => (sent += bytes.toString("latin1")));
    const ended = Promise.withResolvers<StreamFailure | undefined>();
    const onEnd = ended.resolve;
    const stream = client.open(head("/x"), { add() {}, addInvalid() {}, onData() {}, onEnd });
    stream.write(Buffer.from("begin"));
    await turns();
    answer({ type: frameTypes.headers, flags: flags.endHeaders | flags.endStream, streamId: 1 });
    assert.equal(await ended.promise, undefined);
    stream.write(Buffer.from("go on"));
    await turns();
    const resetAsDone = encodeFrame({ ...reset(1), payload: number32(errorCodes.noError) }).toString("latin1");
    assert.ok(sent.includes(resetAsDone));
    assert.ok(!sent.includes("go on"));
    client.destroy();
  });

  it("reports that a queued request was not started when the connection breaks", async () => {
    const { client, far } = await withFrames(settings([settingIds.maxConcurrentStreams, 1]));
    const [first, second] = [send(client), send(client)];
    await turns();
    far.destroy();
    assert.equal((await first).failure?.isUnprocessed, false);
    assert.equal((await second).failure?.isUnprocessed, true);
  });

  it("resets a request that is given up, once, and ignores what comes for it later", async () => {
    const { client, answer, far } = await withFrames();
    let sent = "";
    far.on("data", (bytes: Buffer) => (sent += bytes.toString("latin1")));
    let calls = 0;
    const count = (): void => void (calls += 1);
    const given = client.open(head("/x"), { add: count, addInvalid: count, onData: count, onEnd: count });
    given.end();
    await turns();
    given.cancel();
    given.cancel();
    answer(
      {
        type: frameTypes.headers,
        flags: flags.endHeaders,
        streamId: 1,
        payload: headerBlock([["x-a", "1"]], { isIndexed: true }),
      },
      { type: frameTypes.data, flags: flags.endStream, streamId: 1, payload: Buffer.from("late") },
    );
    const next = send(client);
    await turns();
    // The field that it ignored is in the table, as the first after the 61 of the static one.
    answer({
      type: frameTypes.headers,
      flags: flags.endHeaders | flags.endStream,
      streamId: 3,
      payload: Buffer.from([0x80 | 62]),
    });
    assert.equal((await next).fields["x-a"], "1");
    assert.equal(calls, 0);
    assert.equal(sent.split(encodeFrame(reset(1)).toString("latin1")).length - 1, 1);
    client.destroy();
  });

  const faults: readonly (readonly [string, readonly RawFrame[]])[] = [
    ["pushes", [{ type: frameTypes.pushPromise, flags: flags.endHeaders, streamId: 1, payload: Buffer.alloc(4) }]],
    [
      "sends a header block that can't be decoded",
      [
        {
          type: frameTypes.headers,
          flags: flags.endHeaders,
          streamId: 1,
          payload: Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff]),
        },
      ],
    ],
    [
      "breaks a header block off",
      [
        { type: frameTypes.headers, streamId: 1 },
        { type: frameTypes.data, streamId: 1 },
      ],
    ],
    [
      "never ends a header block",
      [
        { type: frameTypes.headers, streamId: 1 },
        ...Array.from({ length: 20 }, () => ({
          type: frameTypes.continuation,
          streamId: 1,
          payload: Buffer.alloc(16_000),
        })),
      ],
    ],
    ["sends a ping of a wrong length", [{ type: frameTypes.ping, payload: Buffer.alloc(7) }]],
    ["sends settings of a wrong length", [{ type: frameTypes.settings, payload: Buffer.alloc(5) }]],
    ["sends a reset of a wrong length", [{ type: frameTypes.resetStream, streamId: 1, payload: Buffer.alloc(3) }]],
    ["sends a window of a wrong length", [{ type: frameTypes.windowUpdate, payload: Buffer.alloc(3) }]],
    ["leaves without a word", [{ type: frameTypes.goAway, payload: Buffer.alloc(3) }]],
    ["sends a ping of a stream", [{ type: frameTypes.ping, streamId: 1, payload: Buffer.alloc(8) }]],
    ["sends settings of a stream", [{ type: frameTypes.settings, streamId: 1 }]],
    ["leaves a stream and not the connection", [{ type: frameTypes.goAway, streamId: 1, payload: Buffer.alloc(8) }]],
    ["sends an answer of no stream", [{ type: frameTypes.headers, flags: flags.endHeaders }]],
    ["sends a body of no stream", [{ type: frameTypes.data, payload: Buffer.from("x") }]],
    ["widens the connection's window by nothing", [{ type: frameTypes.windowUpdate, payload: Buffer.alloc(4) }]],
  ];
  for (const [what, frames] of faults) {
    it(`closes the connection to a server that ${what}, and fails the requests on it`, async () => {
      const { client, closed, answer } = await withFrames();
      const request = send(client);
      await turns();
      answer(...frames);
      assert.equal((await request).failure?.isUnprocessed, false);
      assert.match((await closed).message, /it does not speak HTTP\/2/);
      assert.equal(client.isOpen, false);
    });
  }

  const emptyFrames: readonly (readonly [what: string, frame: RawFrame])[] = [
    ["settings acknowledgements", { type: frameTypes.settings, flags: flags.ack }],
    ["answers to no ping", { type: frameTypes.ping, flags: flags.ack, payload: Buffer.alloc(8) }],
    ["farewells", { type: frameTypes.goAway, payload: Buffer.from("7fffffff00000000", "hex") }],
    ["window updates", { type: frameTypes.windowUpdate, payload: Buffer.from([0, 0, 0, 1]) }],
    ["priorities", { type: frameTypes.priority, streamId: 1, payload: Buffer.alloc(5) }],
    ["resets of streams that are not open", { type: frameTypes.resetStream, streamId: 9, payload: Buffer.alloc(4) }],
    ["empty data", { type: frameTypes.data, streamId: 1 }],
    ["data of streams that are not open", { type: frameTypes.data, streamId: 9, payload: Buffer.alloc(1) }],
    ["header blocks", { type: frameTypes.headers, flags: flags.endHeaders, streamId: 1, payload: Buffer.from([0x88]) }],
    ["origins (RFC 8336)", { type: 0xc, payload: Buffer.from("\0\x09https://a") }],
  ];
  for (const [what, frame] of emptyFrames) {
    it(`closes the connection to a server that sends ${what} without end`, async (t) => {
      const { client, closed, far } = await withFrames();
      const errors = t.mock.method(globalThis, "Error");
      const request = send(client);
      await once(far, "data");
      // The request allows a few more.
      far.write(Buffer.concat(Array.from({ length: 100_100 }, () => encodeFrame(frame))));
      assert.match((await closed).message, /too many frames that bring nothing/);
      assert.notEqual((await request).failure, undefined);
      // One for each frame takes 2 s in all.
      assert.ok(errors.mock.callCount() < 10);
    });
  }

  it("lets a server send more frames that bring nothing for each frame that it gets, up to its bound", async () => {
    const { client, closed, answer } = await withFrames();
    const update: RawFrame = { type: frameTypes.windowUpdate, payload: Buffer.from([0, 0, 0, 1]) };
    const read = async (count: number): Promise<void> => {
      const wanted = client.receivedBytes + count * encodeFrame(update).length;
      answer(...Array.from({ length: count }, () => update));
      while (client.receivedBytes < wanted) await nextTurn();
    };
    // The server's settings are one of them.
    await read(99_999);
    assert.equal(client.isOpen, true);
    const request = send(client, { body: Buffer.from("body") });
    await turns();
    // Its body and its end are one frame of data, or two.
    await read(10);
    assert.equal(client.isOpen, true);
    await read(11);
    assert.match((await closed).message, /too many frames that bring nothing/);
    await request;
  });

  it("closes the connection to a server that does not read the answers to its frames", async () => {
    const { closed, far } = await withFrames();
    const ping = encodeFrame({ type: frameTypes.ping, payload: Buffer.alloc(8) });
    for (let batch = 0; batch < 20; batch++) far.write(Buffer.concat(Array.from({ length: 1_000 }, () => ping)));
    assert.match((await closed).message, /asks too much/);
  });

  it("is not ready when the server does not begin with its settings", async () => {
    const [near, far] = duplexPair();
    far.resume();
    far.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    await assert.rejects(connect(near), /it does not speak HTTP\/2/);
  });

  it("answers pings, and receives the answers to its own", async () => {
    const { client, answer, far } = await withFrames();
    let text = "";
    far.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
    answer({ type: frameTypes.ping, payload: Buffer.from("question") });
    const heard = new Promise<void>((resolve) => client.ping(resolve));
    answer({ type: frameTypes.ping, flags: flags.ack, payload: Buffer.alloc(8) });
    await heard;
    while (!text.includes("question")) await nextTurn();
    client.destroy();
  });
});
