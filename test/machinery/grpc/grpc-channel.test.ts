import assert from "node:assert/strict";
import { once } from "node:events";
import { constants, createServer } from "node:http2";
import type { Http2Server, Http2Session, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { createServer as createSocketServer } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { GrpcChannel, unaryClient } from "../../../src/machinery/grpc/grpc-channel.ts";
import { encodeFrame, FrameReader } from "../../../src/machinery/grpc/grpc-frames.ts";
import { GrpcError, grpcStatus } from "../../../src/machinery/grpc/grpc-error.ts";
import { issueTestCertificates } from "../storage/etcd/etcd-certificates.ts";
import { collectGarbage } from "../../collect-garbage.ts";

describe("a stream of gRPC messages", () => {
  it("delivers each message whole and in order, wherever the chunks are cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        (messages, lengths) => {
          const stream = Buffer.concat(messages.map(encodeFrame));
          const reader = new FrameReader(2 ** 20);
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

  it("takes no more memory for a message that comes byte by byte", () => {
    const frame = encodeFrame(Buffer.alloc(2 ** 18));
    const reader = new FrameReader(2 ** 20);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let at = 0; at < frame.length - 1; at++) reader.push(frame.subarray(at, at + 1));
    collectGarbage();
    assert.ok(process.memoryUsage().heapUsed - before < 2 ** 20);
    assert.equal(reader.push(frame.subarray(-1)).length, 1);
  });

  it("refuses messages that are compressed or longer than any page", () => {
    const compressed = Buffer.from([1, 0, 0, 0, 1, 7]);
    const endless = Buffer.from([0, 0xff, 0xff, 0xff, 0xff]);
    for (const frame of [compressed, endless]) {
      assert.throws(() => new FrameReader(2 ** 20).push(frame), GrpcError);
    }
  });
});

describe("a gRPC channel", () => {
  const failureOf = async (call: Promise<unknown>): Promise<GrpcError> => {
    const error = await call.then(
      () => undefined,
      (failure: unknown) => failure,
    );
    assert.ok(error instanceof GrpcError);
    return error;
  };
  const message = Buffer.alloc(0);

  it("reports that a call did not run when the server refused it before it started", async () => {
    await using server = await listen((stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
    const channel = await server.connect();
    assert.equal((await failureOf(channel.unary("/x/Y", { message, timeoutMilliseconds: 60_000 }))).mayHaveRun, false);
  });

  it("reports that a call did not run when its connection was closed before it started", async () => {
    await using server = await listen(() => {});
    const channel = await server.connect();
    channel.close();
    assert.equal((await failureOf(channel.unary("/x/Y", { message, timeoutMilliseconds: 60_000 }))).mayHaveRun, false);
  });

  it("reports that a call may have run when its connection broke", async () => {
    await using server = await listen((stream) => stream.session?.destroy());
    const channel = await server.connect();
    assert.equal((await failureOf(channel.unary("/x/Y", { message, timeoutMilliseconds: 60_000 }))).mayHaveRun, true);
  });

  it("reports that a call may have run when the server ended it", async () => {
    await using server = await listen((stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    const channel = await server.connect();
    assert.equal((await failureOf(channel.unary("/x/Y", { message, timeoutMilliseconds: 60_000 }))).mayHaveRun, true);
  });

  it("reports the HTTP status of a proxy that does not reach the server, whatever its page holds", async () => {
    await using server = await listen((stream) => {
      stream.respond({ ":status": 502, "content-type": "text/html" });
      stream.end("<html>");
    });
    const channel = await server.connect();
    const failure = await failureOf(channel.unary("/x/Y", { message, timeoutMilliseconds: 60_000 }));
    assert.match(failure.message, /answered with HTTP status 502$/);
    assert.equal(failure.code, grpcStatus.unavailable);
  });

  it("fails a call that the server answers more than once, and takes neither answer", async () => {
    await using server = await listen((stream) => {
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.end(Buffer.concat([encodeFrame(Buffer.from("first")), encodeFrame(Buffer.from("second"))]));
    });
    const channel = await server.connect();
    const failure = await failureOf(channel.unary("/x/Y", { message, timeoutMilliseconds: 60_000 }));
    assert.match(failure.message, /answered more than once$/);
    assert.equal(failure.code, grpcStatus.internal);
  });

  it("shortens what the server says of a failure, because logs and clients are told", async () => {
    await using server = await listen((stream) => {
      const said = { "grpc-status": "13", "grpc-message": "x".repeat(8_000) };
      stream.respond({ ":status": 200, ...said }, { endStream: true });
    });
    const channel = await server.connect();
    const failure = await failureOf(channel.unary("/x/Y", { message, timeoutMilliseconds: 60_000 }));
    assert.match(failure.message, /^x{500}\.\.\. \(8000 characters\)$/);
  });

  it("pings the server only while a call is running: etcd closes idle connections that ping", async (context) => {
    const called = Promise.withResolvers<void>();
    await using server = await listen(() => called.resolve());
    context.mock.timers.enable({ apis: ["setInterval"] });
    const channel = await server.connect();
    context.mock.timers.tick(30_000);
    const call = channel.stream("/x/Y", { onMessage: () => {}, onEnd: () => {} });
    await called.promise;
    assert.equal(server.pings(), 0, "one of the idle time would have come before the call");

    context.mock.timers.tick(6_000);
    while (server.pings() === 0) await new Promise(setImmediate);
    assert.equal(server.pings(), 1);
    call.cancel();
  });
});

describe("a plugin that answers nothing more on a connection", () => {
  it("is called over another one after a call without an answer, and the first is closed", async (context) => {
    const called = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    let first: Http2Session | undefined;
    await using server = await listen((stream) => {
      first ??= stream.session;
      if (stream.session === first) {
        first?.once("close", () => closed.resolve());
        return called.resolve();
      }
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.end(encodeFrame(Buffer.from("answer")));
    });
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const client = unaryClient({ url: server.url, timeoutMilliseconds: 5_000 });
    const message = Buffer.alloc(0);
    const unanswered = assert.rejects(client.call("/x/Y", message), { code: grpcStatus.deadlineExceeded });
    await called.promise;
    context.mock.timers.tick(5_000);
    await unanswered;
    assert.equal(String(await client.call("/x/Y", message)), "answer");
    context.mock.timers.tick(5_000);
    await closed.promise;
    assert.equal(String(await client.call("/x/Y", message)), "answer");
    client.close();
  });
});

describe("a certificate with the key of another one, as while both files are renewed", () => {
  it("fails the connection, and nothing more happens when its time is over", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { "client.crt": cert, "server.key": key } = issueTestCertificates();
    const url = "https://127.0.0.1:1";
    const settings = { authorities: "the CAs", clientCertificate: "the pair" };
    await assert.rejects(GrpcChannel.connect({ url, tls: { cert, key, settings }, timeoutMilliseconds: 1_000 }), {
      name: "GrpcError",
      message: /^https:\/\/127\.0\.0\.1:1 can't be reached: .*key values mismatch \(check the pair\)$/,
      code: grpcStatus.unavailable,
      mayHaveRun: false,
    });
    context.mock.timers.tick(1_000);
  });
});

describe("a server that closes connections, as one does that speaks only TLS", () => {
  it("fails the connection, and the message says that it was closed", async (context) => {
    const server = createSocketServer((socket) => socket.end()).listen(0, "127.0.0.1");
    context.after(() => server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo; // it listens on TCP
    await assert.rejects(GrpcChannel.connect({ url: `http://127.0.0.1:${port}`, timeoutMilliseconds: 60_000 }), {
      message: `http://127.0.0.1:${port} can't be reached: the connection was closed`,
      mayHaveRun: false,
    });
  });
});

describe("a server that takes connections and says nothing", () => {
  it("is told from one that can't be reached: whoever asks again would wait again", async () => {
    const server = createSocketServer((socket) => socket.resume()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo; // it listens on TCP
    const connect = (timeoutMilliseconds: number): Promise<GrpcChannel> =>
      GrpcChannel.connect({ url: `http://127.0.0.1:${port}`, timeoutMilliseconds });
    const failsWith = (code: number) => (error: unknown) =>
      error instanceof GrpcError && error.code === code && !error.mayHaveRun;
    await assert.rejects(connect(50), failsWith(grpcStatus.deadlineExceeded));
    server.close();
    await once(server, "close");
    await assert.rejects(connect(60_000), failsWith(grpcStatus.unavailable));
  });
});

/** A server whose calls are answered by `onCall`, on a separate port. */
async function listen(onCall: (stream: ServerHttp2Stream) => void): Promise<{
  readonly url: string;
  connect(): Promise<GrpcChannel>;
  pings(): number;
  [Symbol.asyncDispose](): Promise<void>;
}> {
  let pingCount = 0;
  const sessions = new Set<ServerHttp2Session>();
  const channels = new Set<GrpcChannel>();
  const server: Http2Server = createServer();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("ping", () => pingCount++);
  });
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    onCall(stream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    async connect() {
      const channel = await GrpcChannel.connect({ url, tls: {}, timeoutMilliseconds: 60_000 });
      channels.add(channel);
      return channel;
    },
    pings: () => pingCount,
    async [Symbol.asyncDispose]() {
      for (const channel of channels) channel.close();
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
