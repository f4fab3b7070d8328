import type { Duplex } from "node:stream";
import { ConnectionReader } from "./connection-reader.ts";
import type { DataFrame } from "./connection-reader.ts";
import {
  pingAcknowledgement,
  pingFrame,
  readSetting,
  resetFrame,
  settingsAcknowledgement,
  settingsFrame,
  windowUpdateFrame,
} from "./control-frames.ts";
import { FrameAllowance } from "./frame-allowance.ts";
import { FrameWriter } from "./frame-writer.ts";
import type { HeaderBlock } from "./header-blocks.ts";
import { HeaderDecoder } from "./header-decoder.ts";
import type { FieldSink } from "./header-decoder.ts";
import { Http2ClientStream } from "./http2-client-stream.ts";
import type { ClientExchange, StreamFailure } from "./http2-client-stream.ts";
import {
  clientPreface,
  ConnectionError,
  defaultWindowBytes,
  errorCodes,
  maximumFrameBytes,
  maximumWindowBytes,
  settingIds,
} from "./protocol.ts";
import { RequestHeaderEncoder } from "./request-header-encoder.ts";
import type { HeaderFields } from "./request-header-encoder.ts";

export interface Http2ClientOptions {
  /** The connection. The client reads all of it, and ends it. */
  readonly socket: Duplex;
  /** The flow-control window for one answer, and for all answers together. */
  readonly windowBytes: number;
  /** Called once, when the server's settings have come: from then on requests may be sent. */
  readonly onReady: () => void;
  /** Called once, when the connection has ended. */
  readonly onClosed: (cause: Error) => void;
  /** Default: the clock of the process. */
  readonly nowSeconds?: () => number;
}

/** The longest header block. */
const maximumBlockBytes = 256 * 1024;
/** The connection ends when so many frames wait, because the server sends pings and settings and does not read the answers. */
const maximumQueuedFrames = 10_000;
/** More frames than come after a call was cancelled while its answer was under way. */
const emptyFrameBurst = 100_000;
const emptyFramesPerSecond = 1_000;
/** How many more each frame of a request allows. gRPC's servers answer a frame with up to three window updates, a ping and settings. */
const emptyFramesPerRequestFrame = 10;
/** So many bytes of a header block for no open stream make as much work as a frame. */
const headerBytesPerFrame = 64;

const ignoringFields: FieldSink = { add() {}, addInvalid() {} };

/** Shared by all connections: they write one after the other. */
const writer = new FrameWriter();

/**
 * The client's side of an HTTP/2 connection (RFC 9113) to a trusted server, such as etcd or a plugin. All requests of a turn of the event
 * loop are sent in one write. There is no push, no priorities and no limit for the length of an answer. The client disconnects from a
 * server that sends too many frames without content.
 */
export class Http2Client {
  readonly #socket: Duplex;
  readonly #windowBytes: number;
  readonly #onReady: () => void;
  readonly #onClosed: (cause: Error) => void;
  readonly #reader: ConnectionReader;
  readonly #allowance: FrameAllowance;
  readonly #decoder = new HeaderDecoder();
  readonly #encoder = new RequestHeaderEncoder();
  /** The streams whose request head is sent, by id. */
  readonly #streams = new Map<number, Http2ClientStream>();
  /** Frames of the connection, and resets. They are sent before all others. */
  #frames: Uint8Array[];
  /** Streams with something to send. */
  readonly #ready = new Set<Http2ClientStream>();
  /** Streams whose bodies wait for the connection's window. */
  readonly #blocked = new Set<Http2ClientStream>();
  /** Requests that wait for the end of others, because the server accepts no more at the same time. */
  readonly #waiting = new Set<Http2ClientStream>();
  /** Called with the answers to pings, in their order. */
  readonly #pings: (() => void)[] = [];
  #nextStreamId = 1;
  #willFlush = false;
  #isReady = false;
  #maximumStreams = Infinity;
  #sendWindowBytes = defaultWindowBytes;
  #initialSendWindowBytes = defaultWindowBytes;
  /** Received bytes by which the server's window for the connection is not widened yet. */
  #consumedBytes = 0;
  #receivedBytes = 0;
  /** Whether new requests are refused. Requests that have begun continue. */
  #isClosing = false;
  #isOver = false;

  constructor({ socket, windowBytes, onReady, onClosed, nowSeconds = processSeconds }: Http2ClientOptions) {
    this.#socket = socket;
    this.#windowBytes = windowBytes;
    this.#onReady = onReady;
    this.#onClosed = onClosed;
    this.#allowance = new FrameAllowance({ burst: emptyFrameBurst, perSecond: emptyFramesPerSecond, nowSeconds });
    this.#reader = new ConnectionReader({
      from: "server",
      maximumBlockBytes,
      handler: {
        onData: (frame) => this.#readData(frame),
        onHeaders: (block) => this.#readHeaders(block),
        onReset: (reset) => this.#readReset(reset),
        onSettings: (payload) => this.#readSettings(payload),
        onPing: (payload) => {
          this.#allowance.take();
          this.#queue(pingAcknowledgement(payload));
        },
        onPingAnswer: () => {
          this.#allowance.take();
          this.#pings.shift()?.();
        },
        onGoAway: (goAway) => this.#readGoAway(goAway),
        onWindowUpdate: (update) => this.#readWindowUpdate(update),
        onPriority: () => this.#allowance.take(),
        onFrameWithoutEffect: () => this.#allowance.take(),
      },
    });
    this.#frames = [
      clientPreface,
      settingsFrame([
        [settingIds.enablePush, 0],
        [settingIds.initialWindowSize, windowBytes],
      ]),
      windowUpdateFrame(0, windowBytes - defaultWindowBytes),
    ];
    this.#scheduleFlush();
    socket.on("data", (bytes: Buffer) => this.#receive(bytes));
    socket.on("error", (error) => this.destroy(error));
    socket.on("end", () => this.destroy());
    socket.on("close", () => this.destroy());
  }

  /** Whether requests can be sent. */
  get isOpen(): boolean {
    return !this.#isClosing && !this.#isOver;
  }

  /** All bytes since the connection began: the number grows as long as the server sends something. */
  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** Whether no request waits for its answer. */
  get isIdle(): boolean {
    return this.#streams.size + this.#ready.size + this.#waiting.size === 0;
  }

  /** Sends a request, with a body. Only while `isOpen`. Throws a TypeError for fields that HTTP does not allow. */
  open(fields: HeaderFields, exchange: ClientExchange): Http2ClientStream {
    this.#encoder.check(fields);
    const stream = new Http2ClientStream(this, { fields, exchange });
    this.schedule(stream);
    return stream;
  }

  ping(onAnswer: () => void): void {
    this.#pings.push(onAnswer);
    this.#queue(pingFrame);
  }

  /** Ends the connection at once. All requests that have not ended fail. */
  destroy(cause: Error = new Error("the connection was closed")): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reader.end();
    this.#socket.destroy();
    const sent = [...this.#streams.values()];
    for (const stream of sent) this.#close(stream, { isUnprocessed: false, cause });
    this.#refuse(this.#unsent(), cause);
    this.#onClosed(cause);
  }

  // Sending

  schedule(stream: Http2ClientStream): void {
    if (this.#waiting.has(stream)) return;
    this.#ready.add(stream);
    this.#scheduleFlush();
  }

  cancel(stream: Http2ClientStream): void {
    if (stream.isClosed) return;
    if (stream.id !== 0) this.#queue(resetFrame(stream.id, errorCodes.cancel));
    this.#forget(stream);
  }

  askForMore(stream: Http2ClientStream): void {
    if (stream.isPaused || stream.isClosed || stream.consumedBytes < this.#windowBytes >> 1) return;
    this.#queue(windowUpdateFrame(stream.id, stream.consumedBytes));
    stream.consumedBytes = 0;
  }

  #queue(frame: Uint8Array): void {
    if (this.#frames.push(frame) > maximumQueuedFrames) this.destroy(new Error("the server asks too much"));
    this.#scheduleFlush();
  }

  #scheduleFlush(): void {
    if (this.#willFlush || this.#isOver) return;
    this.#willFlush = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#willFlush = false;
    if (this.#isOver) return;
    writer.begin(this.#write);
    const frames = this.#frames;
    this.#frames = [];
    for (const frame of frames) writer.frame(frame);
    for (const stream of this.#ready) {
      this.#ready.delete(stream);
      if (stream.id !== 0 || this.#writeHead(stream)) this.#writeBody(stream);
    }
    writer.flush();
  };

  readonly #write = (bytes: Buffer, onWritten: () => void): void => void this.#socket.write(bytes, onWritten);

  /** Returns false when the request has to wait. */
  #writeHead(stream: Http2ClientStream): boolean {
    if (this.#isClosing) {
      this.#refuse([stream], new Error("it takes no new requests"));
      return false;
    }
    if (this.#streams.size >= this.#maximumStreams) {
      this.#waiting.add(stream);
      return false;
    }
    stream.id = this.#nextStreamId;
    stream.sendWindowBytes = this.#initialSendWindowBytes;
    this.#nextStreamId += 2;
    // RFC 9113 section 5.1.1: a connection whose stream identifiers are used up takes no new streams.
    if (this.#nextStreamId > maximumWindowBytes) this.#isClosing = true;
    this.#streams.set(stream.id, stream);
    writer.headerBlock(this.#encoder.encode(stream.fields), { streamId: stream.id });
    return true;
  }

  #writeBody(stream: Http2ClientStream): void {
    while (!stream.isEndSent && (stream.pending.length > 0 || stream.isEnding)) {
      const windowBytes = Math.max(0, Math.min(stream.sendWindowBytes, this.#sendWindowBytes));
      const bytes = Math.min(maximumFrameBytes, stream.pending.length, windowBytes);
      const isEnd = stream.isEnding && bytes === stream.pending.length;
      if (bytes === 0 && !isEnd) {
        if (stream.sendWindowBytes > 0) this.#blocked.add(stream);
        return;
      }
      writer.dataOf(stream, { bytes, isEnd });
      this.#allowance.add(emptyFramesPerRequestFrame);
      stream.sendWindowBytes -= bytes;
      this.#sendWindowBytes -= bytes;
      stream.isEndSent = isEnd;
    }
  }

  // How streams end

  #close(stream: Http2ClientStream, failure?: StreamFailure): void {
    if (stream.isClosed) return;
    this.#forget(stream);
    stream.exchange.onEnd(failure);
  }

  #forget(stream: Http2ClientStream): void {
    stream.isClosed = true;
    this.#ready.delete(stream);
    this.#blocked.delete(stream);
    this.#waiting.delete(stream);
    if (!this.#streams.delete(stream.id)) return;
    const [next] = this.#waiting;
    if (next !== undefined) {
      this.#waiting.delete(next);
      this.schedule(next);
    }
    this.#endWhenDone();
  }

  /** A connection that takes no new requests ends with its last request. */
  #endWhenDone(): void {
    if (this.#isClosing && this.#streams.size === 0) setImmediate(() => this.destroy());
  }

  /** The requests whose heads are not sent. */
  #unsent(): Http2ClientStream[] {
    return [...this.#ready, ...this.#waiting].filter(({ id }) => id === 0);
  }

  #refuse(streams: Iterable<Http2ClientStream>, cause: Error): void {
    for (const stream of streams) this.#close(stream, { isUnprocessed: true, cause });
  }

  // Receiving

  #receive(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#receivedBytes += bytes.length;
    try {
      this.#reader.read(bytes);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      this.destroy(new Error(`it does not speak HTTP/2: ${error.message}`, { cause: error }));
    }
  }

  #readData({ streamId, data, frameBytes, isEnd }: DataFrame): void {
    this.#consumedBytes += frameBytes;
    if (this.#consumedBytes >= this.#windowBytes >> 1) {
      this.#queue(windowUpdateFrame(0, this.#consumedBytes));
      this.#consumedBytes = 0;
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined || (data.length === 0 && !isEnd)) this.#allowance.take();
    if (stream === undefined) return;
    stream.consumedBytes += frameBytes;
    if (!isEnd) this.askForMore(stream);
    if (data.length > 0) stream.exchange.onData(data);
    if (isEnd) this.#readEnd(stream);
  }

  #readEnd(stream: Http2ClientStream): void {
    if (stream.isClosed) return;
    if (!stream.isEndSent) this.#queue(resetFrame(stream.id, errorCodes.noError));
    this.#close(stream);
  }

  #readHeaders({ streamId, bytes, isEnd }: HeaderBlock): void {
    const stream = this.#streams.get(streamId);
    if (stream === undefined || !isEnd) this.#allowance.take(1 + bytes.length / headerBytesPerFrame);
    // Also decodes a block for no open stream, because it may change the table.
    this.#decoder.decode(bytes, stream?.exchange ?? ignoringFields);
    if (stream !== undefined && isEnd) this.#readEnd(stream);
  }

  #readReset({ streamId, code }: { readonly streamId: number; readonly code: number }): void {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return this.#allowance.take();
    const cause = new Error(`the server reset the stream with code ${code}`);
    this.#close(stream, { isUnprocessed: code === errorCodes.refusedStream, cause });
  }

  #readSettings(payload: Buffer): void {
    this.#allowance.take();
    const windowBytes = readSetting(payload, settingIds.initialWindowSize) ?? this.#initialSendWindowBytes;
    const difference = windowBytes - this.#initialSendWindowBytes;
    this.#initialSendWindowBytes = windowBytes;
    if (difference !== 0) for (const stream of this.#streams.values()) this.#widen(stream, difference);
    this.#maximumStreams = readSetting(payload, settingIds.maxConcurrentStreams) ?? this.#maximumStreams;
    const tableBytes = readSetting(payload, settingIds.headerTableSize);
    if (tableBytes !== undefined) this.#encoder.limitTable(tableBytes);
    this.#queue(settingsAcknowledgement);
    for (const stream of this.#waiting) this.#ready.add(stream);
    this.#waiting.clear();
    if (this.#isReady) return;
    this.#isReady = true;
    this.#onReady();
  }

  /** RFC 9113 section 6.9.2: a window can become negative. */
  #widen(stream: Http2ClientStream, bytes: number): void {
    stream.sendWindowBytes += bytes;
    if (stream.pending.length > 0) this.schedule(stream);
  }

  #readGoAway({ lastStreamId, code }: { readonly lastStreamId: number; readonly code: number }): void {
    this.#allowance.take();
    this.#isClosing = true;
    const sent = [...this.#streams.values()].filter(({ id }) => id > lastStreamId);
    const unprocessed = [...sent, ...this.#unsent()];
    // Only if it is needed: creating an error takes longer than all else here, and thousands of these frames may come.
    if (unprocessed.length > 0) this.#refuse(unprocessed, new Error(`the server leaves with code ${code}`));
    this.#endWhenDone();
  }

  #readWindowUpdate({ streamId, bytes }: { readonly streamId: number; readonly bytes: number }): void {
    this.#allowance.take();
    if (streamId !== 0) {
      const stream = this.#streams.get(streamId);
      if (stream !== undefined) this.#widen(stream, bytes);
      return;
    }
    this.#sendWindowBytes += bytes;
    for (const stream of this.#blocked) this.schedule(stream);
    this.#blocked.clear();
  }
}

const processSeconds = (): number => performance.now() / 1000;
