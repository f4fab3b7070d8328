import { once } from "node:events";
import { duplexPair } from "node:stream";
import type { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { HeaderDecoder } from "../../../src/machinery/http2/header-decoder.ts";
import { Http2Session } from "../../../src/machinery/http2/http2-session.ts";
import type { Http2Limits } from "../../../src/machinery/http2/http2-session.ts";
import type { Http2Stream } from "../../../src/machinery/http2/http2-stream.ts";
import type { RequestHead } from "../../../src/machinery/http2/request-head.ts";
import { clientPreface, errorCodes, flags, frameTypes } from "../../../src/machinery/http2/protocol.ts";

export const limits: Http2Limits = {
  headerBytes: 4096,
  headerCount: 20,
  concurrentStreams: 10,
  emptyFrameBurst: 50,
  emptyFramesPerSecond: 10,
};

export interface RawFrame {
  readonly type: number;
  readonly flags?: number;
  readonly streamId?: number;
  readonly payload?: Uint8Array;
}

/** A frame that was received, with names instead of numbers. */
export interface ReceivedFrame {
  readonly type: string;
  readonly streamId: number;
  readonly isEnd: boolean;
  readonly payload: Buffer;
  /** Of RST_STREAM and GOAWAY. */
  readonly code?: string | undefined;
  /** Of HEADERS. */
  readonly headers?: Readonly<Record<string, string>>;
}

const nameOf = (numbers: Readonly<Record<string, number>>, wanted: number): string =>
  Object.entries(numbers).find(([, number]) => number === wanted)?.[0] ?? String(wanted);

export function encodeFrame({
  type,
  flags: frameFlags = 0,
  streamId = 0,
  payload = Buffer.alloc(0),
}: RawFrame): Buffer {
  const frame = Buffer.alloc(9 + payload.length);
  frame.writeUIntBE(payload.length, 0, 3);
  frame[3] = type;
  frame[4] = frameFlags;
  frame.writeUInt32BE(streamId, 5);
  frame.set(payload, 9);
  return frame;
}

const integer = (value: number, prefixBits: number, first: number): number[] => {
  const largest = 2 ** prefixBits - 1;
  if (value < largest) return [first | value];
  const bytes = [first | largest];
  let rest = value - largest;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return [...bytes, rest];
};

const string = (text: string): number[] => [...integer(text.length, 7, 0), ...Buffer.from(text, "latin1")];

/** A header block of literals (RFC 7541 section 6.2). */
export const headerBlock = (
  fields: readonly (readonly [string, string])[],
  { isIndexed = false }: { readonly isIndexed?: boolean } = {},
): Buffer => Buffer.from(fields.flatMap(([name, value]) => [isIndexed ? 0x40 : 0, ...string(name), ...string(value)]));

export const requestFields = (method: string, path: string): [string, string][] => [
  [":method", method],
  [":scheme", "https"],
  [":path", path],
  [":authority", "localhost"],
];

export const settings = (...pairs: readonly (readonly [number, number])[]): RawFrame => {
  const payload = Buffer.alloc(pairs.length * 6);
  for (const [at, [id, value]] of pairs.entries()) {
    payload.writeUInt16BE(id, at * 6);
    payload.writeUInt32BE(value, at * 6 + 2);
  }
  return { type: frameTypes.settings, payload };
};

export const get = (streamId: number, path = "/"): RawFrame => ({
  type: frameTypes.headers,
  flags: flags.endHeaders | flags.endStream,
  streamId,
  payload: headerBlock(requestFields("GET", path)),
});

export const post = (streamId: number, more: readonly (readonly [string, string])[] = []): RawFrame => ({
  type: frameTypes.headers,
  flags: flags.endHeaders,
  streamId,
  payload: headerBlock([...requestFields("POST", "/"), ...more]),
});

export const data = (streamId: number, content: string | Uint8Array, { isEnd = false } = {}): RawFrame => ({
  type: frameTypes.data,
  flags: isEnd ? flags.endStream : 0,
  streamId,
  payload: Buffer.from(content),
});

export const number32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

export const windowUpdate = (streamId: number, bytes: number): RawFrame => ({
  type: frameTypes.windowUpdate,
  streamId,
  payload: number32(bytes),
});

export const reset = (streamId: number): RawFrame => ({
  type: frameTypes.resetStream,
  streamId,
  payload: number32(errorCodes.cancel),
});

/** A session in this process, and a client that sends whatever frames a test wants. */
export class FrameClient {
  readonly session: Http2Session;
  readonly streams: Http2Stream[] = [];
  /** Of the streams, in the same order. */
  readonly heads: RequestHead[] = [];
  /** Everything that was received. */
  readonly frames: ReceivedFrame[] = [];
  seconds = 0;
  isEnded = false;
  /** Whether the session has closed its socket: it takes no more bytes. */
  isCut = false;
  readonly #socket: Duplex;
  readonly #decoder = new HeaderDecoder();
  #received: Buffer = Buffer.alloc(0);

  constructor(onRequest: (stream: Http2Stream, head: RequestHead) => void, changes: Partial<Http2Limits> = {}) {
    const [client, server] = duplexPair();
    this.#socket = client;
    client.on("data", (bytes: Buffer) => this.#receive(bytes));
    client.on("end", () => (this.isEnded = true));
    client.on("error", () => undefined);
    server.on("close", () => (this.isCut = true));
    this.session = new Http2Session({
      socket: server,
      limits: { ...limits, ...changes },
      nowSeconds: () => this.seconds,
      onRequest: (stream, head) => {
        this.streams.push(stream);
        this.heads.push(head);
        onRequest(stream, head);
      },
    });
    server.on("data", (bytes: Buffer) => this.session.read(bytes));
  }

  /** Sends the preface and empty settings. */
  open(): this {
    return this.sendBytes(clientPreface).send(settings());
  }

  send(...frames: readonly RawFrame[]): this {
    return this.sendBytes(Buffer.concat(frames.map(encodeFrame)));
  }

  sendBytes(bytes: Uint8Array): this {
    if (!this.#socket.destroyed) this.#socket.write(bytes);
    return this;
  }

  /** Stops reading: the server's writes wait. */
  pause(): void {
    this.#socket.pause();
  }

  leave(): void {
    this.#socket.destroy();
  }

  /** Waits until both sides have nothing more to do. */
  async settle(): Promise<void> {
    let seen = -1;
    for (let quiet = 0; quiet < 4; quiet++) {
      await nextTurn();
      if (seen !== this.frames.length) quiet = 0;
      seen = this.frames.length;
    }
  }

  async ended(): Promise<void> {
    if (!this.isEnded) await once(this.#socket, "end");
  }

  /** The frames of a type, and perhaps of a stream. */
  of(type: keyof typeof frameTypes, streamId?: number): ReceivedFrame[] {
    return this.frames.filter((frame) => frame.type === type && (streamId ?? frame.streamId) === frame.streamId);
  }

  /** All of a stream's DATA. */
  body(streamId: number): string {
    return Buffer.concat(this.of("data", streamId).map(({ payload }) => payload)).toString("latin1");
  }

  #receive(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    while (this.#received.length >= 9) {
      const length = this.#received.readUIntBE(0, 3);
      if (this.#received.length < 9 + length) return;
      this.frames.push(this.#named(this.#received.subarray(0, 9 + length)));
      this.#received = this.#received.subarray(9 + length);
    }
  }

  #named(frame: Buffer): ReceivedFrame {
    const type = nameOf(frameTypes, frame[3] ?? 0);
    const frameFlags = frame[4] ?? 0;
    const payload = frame.subarray(9);
    const named = { type, streamId: frame.readUInt32BE(5), payload, isEnd: (frameFlags & flags.endStream) !== 0 };
    if (type === "resetStream") return { ...named, code: nameOf(errorCodes, payload.readUInt32BE(0)) };
    if (type === "goAway") return { ...named, code: nameOf(errorCodes, payload.readUInt32BE(4)) };
    if (type !== "headers" || (frameFlags & flags.endHeaders) === 0) return named;
    const headers: Record<string, string> = {};
    this.#decoder.decode(Buffer.from(payload), {
      add: (name, value) => (headers[name] = value),
      addInvalid: () => {
        throw new Error("the server sent a header that HTTP does not allow");
      },
    });
    return { ...named, headers };
  }
}

export const answerText = (stream: Http2Stream, content: string, headers: Record<string, string> = {}): void =>
  stream.respond({ status: 200, headers }, { content, byteLength: Buffer.byteLength(content) });

/** Answers with the length of the body. */
export const answerLength = (stream: Http2Stream): void =>
  stream.readBody({
    maximumBytes: 1_000_000,
    whole: (body) => answerText(stream, String(body.length)),
    tooLarge: () => answerText(stream, "too large"),
    brokenOff: () => undefined,
  });
