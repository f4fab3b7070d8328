import { once } from "node:events";
import { constants, createServer } from "node:http2";
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { encodeFrame, FrameReader } from "../../../../src/machinery/grpc/grpc-frames.ts";
import { ProtobufReader, ProtobufWriter } from "../../../../src/machinery/schema/protobuf/protobuf-wire.ts";

export interface FakeRange {
  /** How many entries the client asks for. */
  readonly limit: number;
  /** Answers with the entries. */
  answer(): void;
  /** Answers that there is more, with these keys. */
  answerMore(keys: readonly string[]): void;
  /** Ends the call with a gRPC status. */
  fail(status: number, message?: string): void;
  /** Begins an answer of 2 GiB. */
  answerTooLong(): void;
  /** Answers with these bytes. */
  answerBytes(message: Uint8Array): void;
  /** Sends something that is no answer. Resolves once the client has read it. */
  sendOther(): Promise<void>;
}

export interface FakeEtcd {
  readonly url: string;
  /** Of each range that was asked for, in their order. */
  readonly limits: readonly number[];
  readonly connectionCount: number;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface FakeEtcdOptions {
  readonly keys?: readonly string[];
  readonly onRange?: (range: FakeRange) => void;
  /** Decides the answers to all other calls. Default: an answer without a field. */
  readonly onCall?: (call: FakeCall) => void;
}

export interface FakeCall {
  readonly path: string;
  answer(message: Uint8Array): void;
  /** Ends the call with a gRPC status. */
  fail(status: number, message: string): void;
  /** Tells the client that this is the last call that its connection takes (GOAWAY). */
  makeLast(): void;
}

/** A member of etcd's API with some keys, whose answers to ranges the test decides. */
export async function startFakeEtcd({
  keys = [],
  onRange = (range) => range.answer(),
  onCall = (call) => call.answer(Buffer.alloc(0)),
}: FakeEtcdOptions): Promise<FakeEtcd> {
  const limits: number[] = [];
  const sessions: ServerHttp2Session[] = [];
  const server = createServer();
  server.on("session", (session) => void sessions.push(session));
  server.on("stream", (stream: ServerHttp2Stream, { ":path": path = "" }) => {
    stream.on("error", () => {});
    const frames = new FrameReader(2 ** 20);
    stream.on("data", (bytes: Buffer) => {
      for (const message of frames.push(bytes)) {
        if (path === "/etcdserverpb.KV/Range") read(stream, message);
        else
          onCall({
            path,
            answer: (sent) => answer(stream, sent),
            fail: (status, text) =>
              stream.respond({ "grpc-status": String(status), "grpc-message": text }, { endStream: true }),
            makeLast: () => stream.session?.goaway(constants.NGHTTP2_NO_ERROR, stream.id),
          });
      }
    });
  });
  const read = (stream: ServerHttp2Stream, message: Buffer): void => {
    const { first, limit } = decodeRequest(message);
    const left = keys.filter((key) => key >= first);
    limits.push(limit);
    onRange({
      limit,
      answer: () => answer(stream, encodeAnswer(left.slice(0, limit), left.length > limit)),
      answerMore: (sent) => answer(stream, encodeAnswer(sent, true)),
      fail: (status, text = "") =>
        stream.respond({ "grpc-status": String(status), "grpc-message": text }, { endStream: true }),
      answerBytes: (sent) => answer(stream, sent),
      answerTooLong() {
        stream.respond({});
        stream.write(Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]));
      },
      sendOther: () => new Promise((resolve) => stream.session?.ping(() => resolve())),
    });
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    limits,
    get connectionCount() {
      return sessions.length;
    },
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** A field whose number has no end. */
export const unreadable = Buffer.from([0xff]);

function answer(stream: ServerHttp2Stream, message: Uint8Array): void {
  stream.respond({}, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(encodeFrame(message));
}

/** A `RangeRequest` of etcd's `rpc.proto`. */
function decodeRequest(message: Buffer): { readonly first: string; readonly limit: number } {
  const reader = new ProtobufReader(message);
  let first = "";
  let limit = 0;
  while (reader.nextField()) {
    if (reader.field === 1) first = reader.string();
    else if (reader.field === 3) limit = reader.int64();
  }
  return { first, limit };
}

/** A `RangeResponse`, last field first. */
function encodeAnswer(keys: readonly string[], hasMore: boolean): Buffer {
  const writer = new ProtobufWriter();
  writer.varintField(3, hasMore ? 1 : 0);
  for (const key of keys.toReversed()) {
    writer.messageField(2, () => {
      writer.bytesField(5, Buffer.from("{}"));
      writer.varintField(3, 7);
      writer.varintField(2, 7);
      writer.stringField(1, key);
    });
  }
  writer.messageField(1, () => writer.varintField(3, 7));
  return writer.finish();
}
