import type { Duplex } from "node:stream";
import { goAwayFrame, pingAcknowledgement, resetFrame } from "./control-frames.ts";
import { settingsAcknowledgement, settingsFrame, windowUpdateFrame } from "./control-frames.ts";
import { FrameWriter } from "./frame-writer.ts";
import type { ResponseHead } from "./frame-writer.ts";
import { HeaderDecoder } from "./header-decoder.ts";
import { Http2Stream } from "./http2-stream.ts";
import type { StreamSession } from "./http2-stream.ts";
import {
  clientPreface,
  ConnectionError,
  defaultWindowBytes,
  errorCodes,
  flags,
  frameHeaderBytes,
  frameTypes,
  maximumFrameBytes,
  maximumWindowBytes,
  settingIds,
} from "./protocol.ts";
import type { ErrorCode } from "./protocol.ts";
import { RequestHead, Trailers } from "./request-head.ts";
import type { HeadLimits } from "./request-head.ts";

export interface Http2Limits extends HeadLimits {
  /** The maximum number of simultaneous streams. */
  readonly concurrentStreams: number;
  /**
   * How many frames a client may send at once, and then per second, that make work and bring nothing: resets (CVE-2023-44487), frames
   * that make the server reset a stream (CVE-2025-8671), empty frames (CVE-2019-9518), settings.
   */
  readonly resetBurst: number;
  readonly resetsPerSecond: number;
}

export interface Http2SessionOptions {
  /** The connection. The session reads all of it, and ends it. */
  readonly socket: Duplex;
  readonly limits: Http2Limits;
  readonly nowSeconds: () => number;
  /** Called with each request, before its body has come. Sets the stream's observer and answers. */
  readonly onRequest: (stream: Http2Stream) => void;
}

/** The client is told that it may send more when it has used half of its window. */
const creditStepBytes = defaultWindowBytes >> 1;
/** A client that sends more pings than it reads answers for is cut off. */
const maximumQueuedFrames = 10_000;
/** Streams that this side has reset: what the client had sent by then is ignored (RFC 9113 section 5.1). */
const rememberedResets = 1000;
/** A session that has ended reads on so that the client gets its last frames, but only so much. */
const maximumIgnoredBytes = 1024 * 1024;
/** What one session writes in a turn of the event loop. Others write in between. */
const turnBytes = 256 * 1024;

const initialSettings = ({ concurrentStreams, headerBytes }: Http2Limits): Buffer =>
  settingsFrame([
    [settingIds.maxConcurrentStreams, concurrentStreams],
    [settingIds.maxHeaderListSize, headerBytes],
  ]);

/** Sessions that have something to write. They write together, at the end of a turn of the event loop. */
let waiting: Http2Session[] = [];

function flushAll(): void {
  const sessions = waiting;
  waiting = [];
  for (const session of sessions) session.flush();
}

/** All sessions write one after the other, so they share one. */
const writer = new FrameWriter();

/**
 * The server's side of an HTTP/2 connection (RFC 9113). It checks everything that a client sends, and bounds what it can make the server
 * keep or do. No priorities, no push, no compression of answers' headers: clients must do without, and gain nothing from them here.
 */
export class Http2Session implements StreamSession {
  readonly #socket: Duplex;
  readonly #limits: Http2Limits;
  readonly #nowSeconds: () => number;
  readonly #onRequest: (stream: Http2Stream) => void;
  readonly #decoder = new HeaderDecoder();
  readonly #streams = new Map<number, Http2Stream>();

  /** Parts of a frame that is not complete, their length, and what must be there to go on. */
  #partial: Buffer[] = [];
  #partialBytes = 0;
  #neededBytes = clientPreface.length;
  #hasPreface = false;
  #hasSettings = false;
  /** The parts of a header block whose end has not come. No other frame may come in between. */
  #block: { readonly streamId: number; readonly isEnd: boolean; readonly parts: Buffer[]; bytes: number } | undefined;
  #lastStreamId = 0;
  readonly #resets = new Set<number>();

  #receiveWindowBytes = defaultWindowBytes;
  #creditBytes = 0;
  #sendWindowBytes = defaultWindowBytes;
  #initialSendWindowBytes = defaultWindowBytes;

  /** Frames of the connection, and of streams that are closed. */
  #queued: Buffer[] = [];
  /** Streams with something to send. */
  #scheduled: Http2Stream[] = [];
  /** Streams whose bodies wait for the connection's window. */
  readonly #blocked = new Set<Http2Stream>();
  #willFlush = false;
  #isSocketFull = false;
  #isFirstBlock = true;

  #allowance: number;
  #allowanceAtSecond: number;
  /** No new streams. Those that are open go on. */
  #isClosing = false;
  /** Nothing more is read or sent. */
  #isOver = false;
  #ignoredBytes = 0;

  constructor({ socket, limits, nowSeconds, onRequest }: Http2SessionOptions) {
    this.#socket = socket;
    this.#limits = limits;
    this.#nowSeconds = nowSeconds;
    this.#onRequest = onRequest;
    this.#allowance = limits.resetBurst;
    this.#allowanceAtSecond = nowSeconds();
    this.#queue(initialSettings(limits));
    socket.on("data", (bytes: Buffer) => this.#receive(bytes));
    socket.on("drain", () => {
      this.#isSocketFull = false;
      this.#scheduleFlush();
    });
    // A client that closes its side waits for no answer.
    socket.on("end", () => this.destroy());
    socket.on("close", () => this.#closeStreams());
    socket.on("error", () => this.destroy());
  }

  /** Refuses new requests in a way that tells the client that they were not taken. The connection ends with the last open stream. */
  close(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#queue(goAwayFrame({ lastStreamId: this.#lastStreamId }));
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#isOver = true;
    this.#socket.destroy();
    this.#closeStreams();
  }

  #closeStreams(): void {
    this.#isOver = true;
    this.#queued = [];
    this.#scheduled = [];
    this.#partial = [];
    this.#block = undefined;
    this.#blocked.clear();
    for (const stream of this.#streams.values()) stream.close();
    this.#streams.clear();
  }

  // What comes in

  #receive(bytes: Buffer): void {
    if (this.#isOver) {
      this.#ignoredBytes += bytes.length;
      if (this.#ignoredBytes > maximumIgnoredBytes) this.#socket.destroy();
      return;
    }
    let chunk = bytes;
    if (this.#partialBytes > 0) {
      this.#partial.push(bytes);
      this.#partialBytes += bytes.length;
      if (this.#partialBytes < this.#neededBytes) return;
      chunk = Buffer.concat(this.#partial, this.#partialBytes);
      this.#partial = [];
      this.#partialBytes = 0;
    }
    try {
      const at = this.#readFrames(chunk);
      if (this.#isOver || at === chunk.length) return;
      this.#partial.push(at === 0 ? chunk : chunk.subarray(at));
      this.#partialBytes = chunk.length - at;
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      this.#fail(error);
    }
  }

  /** Returns how far it has read. Sets how many bytes the next frame needs. */
  #readFrames(chunk: Buffer): number {
    let at = 0;
    if (!this.#hasPreface) {
      const start = chunk.subarray(0, clientPreface.length);
      if (!clientPreface.subarray(0, start.length).equals(start))
        throw new ConnectionError(errorCodes.protocolError, "the connection does not start as HTTP/2 does");
      if (start.length < clientPreface.length) return 0;
      this.#hasPreface = true;
      at = clientPreface.length;
    }
    while (chunk.length - at >= frameHeaderBytes) {
      const length = chunk.readUIntBE(at, 3);
      if (length > maximumFrameBytes) throw new ConnectionError(errorCodes.frameSizeError, "a frame is too large");
      const end = at + frameHeaderBytes + length;
      if (end > chunk.length) {
        this.#neededBytes = end - at;
        return at;
      }
      this.#readFrame(chunk, at, end);
      if (this.#isOver) return chunk.length;
      at = end;
    }
    this.#neededBytes = frameHeaderBytes;
    return at;
  }

  #readFrame(chunk: Buffer, start: number, end: number): void {
    const type = chunk[start + 3] as number;
    const frameFlags = chunk[start + 4] as number;
    const streamId = chunk.readUInt32BE(start + 5) & maximumWindowBytes;
    const payload = chunk.subarray(start + frameHeaderBytes, end);
    if (!this.#hasSettings && type !== frameTypes.settings)
      throw new ConnectionError(errorCodes.protocolError, "the first frame is not SETTINGS");
    if (this.#block !== undefined && (type !== frameTypes.continuation || streamId !== this.#block.streamId))
      throw new ConnectionError(errorCodes.protocolError, "a header block does not go on");
    switch (type) {
      case frameTypes.data:
        return this.#readData(streamId, frameFlags, payload);
      case frameTypes.headers:
        return this.#readHeaders(streamId, frameFlags, payload);
      case frameTypes.priority:
        return this.#readPriority(streamId, payload);
      case frameTypes.resetStream:
        return this.#readReset(streamId, payload);
      case frameTypes.settings:
        return this.#readSettings(streamId, frameFlags, payload);
      case frameTypes.pushPromise:
        throw new ConnectionError(errorCodes.protocolError, "a client can't push");
      case frameTypes.ping:
        return this.#readPing(streamId, frameFlags, payload);
      case frameTypes.goAway:
        if (streamId !== 0) throw new ConnectionError(errorCodes.protocolError, "GOAWAY is of a stream");
        if (payload.length < 8) throw new ConnectionError(errorCodes.frameSizeError, "GOAWAY is too short");
        return this.close();
      case frameTypes.windowUpdate:
        return this.#readWindowUpdate(streamId, payload);
      case frameTypes.continuation:
        return this.#readContinuation(frameFlags, payload);
      default:
        // RFC 9113 section 5.5: unknown types are ignored.
        this.#spend();
    }
  }

  /** RFC 9113 section 6.1. */
  #readData(streamId: number, frameFlags: number, payload: Buffer): void {
    if (streamId === 0) throw new ConnectionError(errorCodes.protocolError, "DATA is of no stream");
    this.#receiveWindowBytes -= payload.length;
    if (this.#receiveWindowBytes < 0)
      throw new ConnectionError(errorCodes.flowControlError, "DATA exceeds the connection's window");
    const data = (frameFlags & flags.padded) === 0 ? payload : withoutPadding(payload);
    const stream = this.#streams.get(streamId);
    if (stream === undefined || stream.isRequestWhole) {
      this.#creditConnection(payload.length);
      if (stream !== undefined) return this.#refuse(stream, errorCodes.streamClosed);
      return this.#ignoreClosed(streamId);
    }
    const isEnd = (frameFlags & flags.endStream) !== 0;
    if (data.length === 0 && !isEnd) this.#spend();
    stream.receiveWindowBytes -= payload.length;
    if (stream.receiveWindowBytes < 0) {
      this.#creditConnection(payload.length);
      return this.#refuse(stream, errorCodes.flowControlError);
    }
    const expected = stream.head.contentLength;
    const received = stream.receivedBytes + data.length;
    if (expected !== undefined && (received > expected || (isEnd && received < expected))) {
      this.#creditConnection(payload.length);
      return this.#refuse(stream, errorCodes.protocolError);
    }
    stream.receive(data, payload.length);
    if (isEnd && !stream.isClosed) stream.receiveEnd();
  }

  /** Frames of a stream that is closed: those that were under way are no fault of the client. */
  #ignoreClosed(streamId: number): void {
    if (streamId > this.#lastStreamId) {
      if (this.#isClosing && streamId % 2 === 1) return;
      throw new ConnectionError(errorCodes.protocolError, "a frame is of a stream that is not open");
    }
    if (!this.#resets.has(streamId))
      throw new ConnectionError(errorCodes.streamClosed, "a frame is of a closed stream");
  }

  /** RFC 9113 section 6.2. */
  #readHeaders(streamId: number, frameFlags: number, payload: Buffer): void {
    if (streamId % 2 === 0) throw new ConnectionError(errorCodes.protocolError, "a client's stream has an even number");
    let block = (frameFlags & flags.padded) === 0 ? payload : withoutPadding(payload);
    if ((frameFlags & flags.priority) !== 0) {
      if (block.length < 5) throw new ConnectionError(errorCodes.frameSizeError, "HEADERS are too short");
      if ((block.readUInt32BE(0) & maximumWindowBytes) === streamId)
        throw new ConnectionError(errorCodes.protocolError, "a stream depends on itself");
      block = block.subarray(5);
    }
    const isEnd = (frameFlags & flags.endStream) !== 0;
    if ((frameFlags & flags.endHeaders) !== 0) return this.#readBlock(streamId, isEnd, block);
    this.#block = { streamId, isEnd, parts: [block], bytes: block.length };
  }

  /** RFC 9113 section 6.10. */
  #readContinuation(frameFlags: number, payload: Buffer): void {
    const block = this.#block;
    if (block === undefined) throw new ConnectionError(errorCodes.protocolError, "CONTINUATION continues nothing");
    if (payload.length === 0) this.#spend();
    block.parts.push(payload);
    block.bytes += payload.length;
    // Whoever sends that much wants to fill the memory (CVE-2024-27316).
    if (block.bytes > this.#limits.headerBytes + maximumFrameBytes)
      throw new ConnectionError(errorCodes.enhanceYourCalm, "a header block is too large");
    if ((frameFlags & flags.endHeaders) === 0) return;
    this.#block = undefined;
    this.#readBlock(block.streamId, block.isEnd, Buffer.concat(block.parts, block.bytes));
  }

  #readBlock(streamId: number, isEnd: boolean, block: Buffer): void {
    const stream = this.#streams.get(streamId);
    if (stream !== undefined) return this.#readTrailers(stream, isEnd, block);
    const head = new RequestHead(this.#limits);
    this.#decoder.decode(block, head);
    if (streamId <= this.#lastStreamId) return this.#ignoreClosed(streamId);
    if (this.#isClosing) return;
    this.#lastStreamId = streamId;
    if (this.#streams.size >= this.#limits.concurrentStreams)
      return this.#refuseStream(streamId, errorCodes.refusedStream);
    if (head.isTooLarge) return this.#answerTooLarge(streamId, isEnd, head);
    if (head.isMalformed || (isEnd && (head.contentLength ?? 0) > 0))
      return this.#refuseStream(streamId, errorCodes.protocolError);
    this.#onRequest(this.#open(streamId, isEnd, head));
  }

  #open(id: number, isEnd: boolean, head: RequestHead): Http2Stream {
    const stream = new Http2Stream(this, { id, head, hasBody: !isEnd, sendWindowBytes: this.#initialSendWindowBytes });
    this.#streams.set(id, stream);
    return stream;
  }

  #answerTooLarge(streamId: number, isEnd: boolean, head: RequestHead): void {
    this.#spend();
    this.#open(streamId, isEnd, head).respond({ status: 431, headers: {} }, undefined);
  }

  /** RFC 9113 section 8.1. */
  #readTrailers(stream: Http2Stream, isEnd: boolean, block: Buffer): void {
    const trailers = new Trailers();
    this.#decoder.decode(block, trailers);
    if (stream.isRequestWhole) return this.#refuse(stream, errorCodes.streamClosed);
    const expected = stream.head.contentLength;
    if (!isEnd || trailers.isMalformed || (expected !== undefined && expected !== stream.receivedBytes))
      return this.#refuse(stream, errorCodes.protocolError);
    stream.receiveEnd();
  }

  /** RFC 9113 section 5.3.2: priorities are deprecated. */
  #readPriority(streamId: number, payload: Buffer): void {
    if (streamId === 0) throw new ConnectionError(errorCodes.protocolError, "PRIORITY is of no stream");
    this.#spend();
    const isSelf = payload.length === 5 && (payload.readUInt32BE(0) & maximumWindowBytes) === streamId;
    if (payload.length === 5 && !isSelf) return;
    const code = isSelf ? errorCodes.protocolError : errorCodes.frameSizeError;
    const stream = this.#streams.get(streamId);
    if (stream === undefined) throw new ConnectionError(code, "PRIORITY is malformed");
    this.#refuse(stream, code);
  }

  /** RFC 9113 section 6.4. */
  #readReset(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ConnectionError(errorCodes.frameSizeError, "RST_STREAM has a wrong length");
    if (streamId === 0 || (streamId > this.#lastStreamId && !this.#isClosing))
      throw new ConnectionError(errorCodes.protocolError, "RST_STREAM is of a stream that is not open");
    this.#spend();
    const stream = this.#streams.get(streamId);
    if (stream !== undefined) this.#end(stream);
  }

  /** RFC 9113 section 6.5. */
  #readSettings(streamId: number, frameFlags: number, payload: Buffer): void {
    const isAcknowledgement = (frameFlags & flags.ack) !== 0;
    if (streamId !== 0) throw new ConnectionError(errorCodes.protocolError, "SETTINGS are of a stream");
    if (payload.length % 6 !== 0 || (isAcknowledgement && payload.length > 0))
      throw new ConnectionError(errorCodes.frameSizeError, "SETTINGS have a wrong length");
    if (!this.#hasSettings && isAcknowledgement)
      throw new ConnectionError(errorCodes.protocolError, "the first frame is not SETTINGS");
    this.#hasSettings = true;
    if (isAcknowledgement) return;
    this.#spend();
    for (let at = 0; at < payload.length; at += 6)
      this.#applySetting(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    this.#queue(settingsAcknowledgement);
  }

  #applySetting(id: number, value: number): void {
    switch (id) {
      case settingIds.enablePush:
        if (value > 1) throw new ConnectionError(errorCodes.protocolError, "ENABLE_PUSH is neither 0 nor 1");
        return;
      case settingIds.maxFrameSize:
        if (value < maximumFrameBytes || value > 0xff_ffff)
          throw new ConnectionError(errorCodes.protocolError, "MAX_FRAME_SIZE is out of range");
        return;
      case settingIds.initialWindowSize: {
        if (value > maximumWindowBytes)
          throw new ConnectionError(errorCodes.flowControlError, "INITIAL_WINDOW_SIZE is out of range");
        const difference = value - this.#initialSendWindowBytes;
        this.#initialSendWindowBytes = value;
        for (const stream of this.#streams.values()) this.#widen(stream, difference);
        return;
      }
      default:
      // The others bound what this side does not do.
    }
  }

  /** RFC 9113 section 6.9.2: a window can become negative. */
  #widen(stream: Http2Stream, bytes: number): void {
    stream.sendWindowBytes += bytes;
    if (stream.sendWindowBytes > maximumWindowBytes) return this.#refuse(stream, errorCodes.flowControlError);
    if (stream.pendingBytes > 0) this.schedule(stream);
  }

  /** RFC 9113 section 6.7. */
  #readPing(streamId: number, frameFlags: number, payload: Buffer): void {
    if (streamId !== 0) throw new ConnectionError(errorCodes.protocolError, "PING is of a stream");
    if (payload.length !== 8) throw new ConnectionError(errorCodes.frameSizeError, "PING has a wrong length");
    if ((frameFlags & flags.ack) === 0) this.#queue(pingAcknowledgement(payload));
  }

  /** RFC 9113 section 6.9. */
  #readWindowUpdate(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ConnectionError(errorCodes.frameSizeError, "WINDOW_UPDATE has a wrong length");
    const bytes = payload.readUInt32BE(0) & maximumWindowBytes;
    if (streamId === 0) {
      this.#sendWindowBytes += bytes;
      if (bytes === 0) throw new ConnectionError(errorCodes.protocolError, "WINDOW_UPDATE adds nothing");
      if (this.#sendWindowBytes > maximumWindowBytes)
        throw new ConnectionError(errorCodes.flowControlError, "the connection's window is too large");
      for (const blocked of this.#blocked) this.schedule(blocked);
      this.#blocked.clear();
      return;
    }
    const stream = this.#streams.get(streamId);
    if (stream !== undefined)
      return bytes === 0 ? this.#refuse(stream, errorCodes.protocolError) : this.#widen(stream, bytes);
    if (streamId > this.#lastStreamId && !this.#isClosing)
      throw new ConnectionError(errorCodes.protocolError, "WINDOW_UPDATE is of a stream that is not open");
  }

  // What a fault costs

  /** A token bucket: who sends too many frames that bring nothing is cut off. */
  #spend(): void {
    const now = this.#nowSeconds();
    const { resetBurst, resetsPerSecond } = this.#limits;
    this.#allowance = Math.min(resetBurst, this.#allowance + (now - this.#allowanceAtSecond) * resetsPerSecond);
    this.#allowanceAtSecond = now;
    if (this.#allowance-- < 1)
      throw new ConnectionError(errorCodes.enhanceYourCalm, "too many frames that bring nothing");
  }

  /** The client broke a rule that concerns one stream (RFC 9113 section 5.4.2). */
  #refuse(stream: Http2Stream, code: ErrorCode): void {
    this.#spend();
    this.reset(stream, code);
  }

  #refuseStream(streamId: number, code: ErrorCode): void {
    this.#spend();
    this.#remember(streamId);
    this.#queue(resetFrame(streamId, code));
  }

  #fail({ code, message }: ConnectionError): void {
    this.#queue(goAwayFrame({ lastStreamId: this.#lastStreamId, code, text: message }));
    this.#scheduled = [];
    this.#writeQueued();
    this.#closeStreams();
    this.#socket.end();
  }

  // What goes out

  reset(stream: Http2Stream, code: ErrorCode): void {
    if (stream.isClosed) return;
    this.#remember(stream.id);
    this.#queue(resetFrame(stream.id, code));
    this.#end(stream);
  }

  #remember(streamId: number): void {
    this.#resets.add(streamId);
    if (this.#resets.size <= rememberedResets) return;
    for (const oldest of this.#resets) {
      this.#resets.delete(oldest);
      return;
    }
  }

  /** Nothing more comes or goes. */
  #end(stream: Http2Stream): void {
    this.#streams.delete(stream.id);
    this.#blocked.delete(stream);
    this.#creditConnection(stream.unreadFrameBytes);
    stream.close();
    if (this.#isClosing && this.#streams.size === 0) this.#scheduleFlush();
  }

  credit(stream: Http2Stream, bytes: number): void {
    this.#creditConnection(bytes);
    stream.creditBytes += bytes;
    if (stream.creditBytes < creditStepBytes || stream.isRequestWhole || stream.isClosed) return;
    this.#queue(windowUpdateFrame(stream.id, stream.creditBytes));
    stream.receiveWindowBytes += stream.creditBytes;
    stream.creditBytes = 0;
  }

  #creditConnection(bytes: number): void {
    this.#creditBytes += bytes;
    if (this.#creditBytes < creditStepBytes) return;
    this.#queue(windowUpdateFrame(0, this.#creditBytes));
    this.#receiveWindowBytes += this.#creditBytes;
    this.#creditBytes = 0;
  }

  #queue(frame: Buffer): void {
    if (this.#isOver) return;
    if (this.#queued.push(frame) > maximumQueuedFrames) return this.destroy();
    this.#scheduleFlush();
  }

  schedule(stream: Http2Stream): void {
    if (!stream.isScheduled) {
      stream.isScheduled = true;
      this.#scheduled.push(stream);
    }
    this.#scheduleFlush();
  }

  #scheduleFlush(): void {
    if (this.#willFlush || this.#isSocketFull || this.#isOver) return;
    this.#willFlush = true;
    if (waiting.push(this) === 1) setImmediate(flushAll);
  }

  /** Writes what is queued, as far as windows and the socket allow. Called once for each turn of the event loop. */
  flush(): void {
    this.#willFlush = false;
    if (this.#isOver || this.#isSocketFull) return;
    this.#writeQueued();
    if (this.#scheduled.length > 0) this.#scheduleFlush();
    else if (this.#isClosing && this.#streams.size === 0 && this.#queued.length === 0) {
      this.#isOver = true;
      this.#socket.end();
    }
  }

  #writeQueued(): void {
    writer.begin(this.#write);
    const queued = this.#queued;
    this.#queued = [];
    for (const frame of queued) writer.frame(frame);
    this.#writeStreams();
    writer.flush();
  }

  readonly #write = (bytes: Buffer): void => {
    if (!this.#socket.write(bytes)) this.#isSocketFull = true;
  };

  /** Each stream sends its head, and then in turn a frame of its body. */
  #writeStreams(): void {
    const turn = this.#scheduled;
    this.#scheduled = [];
    let next = 0;
    for (let left = turnBytes; next < turn.length && left > 0 && !this.#isSocketFull; next++) {
      const stream = turn[next] as Http2Stream;
      stream.isScheduled = false;
      if (stream.isClosed) continue;
      if (stream.unsentHead !== undefined) left -= this.#writeHead(stream);
      left -= this.#writeBody(stream);
      if (stream.isClosed || (stream.pendingBytes === 0 && !stream.isEnding)) continue;
      // A stream whose window is full goes on when the client has widened it.
      if (stream.sendWindowBytes <= 0) continue;
      if (this.#sendWindowBytes <= 0) this.#blocked.add(stream);
      else {
        stream.isScheduled = true;
        turn.push(stream);
      }
    }
    if (next < turn.length) this.#scheduled = turn.slice(next).concat(this.#scheduled);
  }

  /** Returns the bytes that it wrote. A short body follows at once; a long one waits with those of other streams. */
  #writeHead(stream: Http2Stream): number {
    const head = stream.unsentHead as ResponseHead;
    const body = stream.unsentBody;
    stream.unsentHead = undefined;
    stream.unsentBody = undefined;
    const isEnd = stream.isEnding && body === undefined && stream.pendingBytes === 0;
    let written: number;
    try {
      written = writer.headers(head, { streamId: stream.id, isEnd, isFirst: this.#isFirstBlock });
    } catch {
      this.reset(stream, errorCodes.internalError);
      return 0;
    }
    this.#isFirstBlock = false;
    if (isEnd) this.#answered(stream);
    else if (body !== undefined) {
      const { content, byteLength } = body;
      if (byteLength <= Math.min(maximumFrameBytes, stream.sendWindowBytes, this.#sendWindowBytes)) {
        writer.data(content, { streamId: stream.id, byteLength });
        this.#sendWindowBytes -= byteLength;
        this.#answered(stream);
        return written + byteLength;
      }
      stream.pending.push(typeof content === "string" ? Buffer.from(content) : content);
      stream.pendingBytes = byteLength;
    }
    return written;
  }

  /** Writes a frame, and returns its bytes. */
  #writeBody(stream: Http2Stream): number {
    if (stream.isClosed) return 0;
    const bytes = Math.min(maximumFrameBytes, stream.pendingBytes, stream.sendWindowBytes, this.#sendWindowBytes);
    const isEnd = stream.isEnding && bytes === stream.pendingBytes;
    if (bytes <= 0 && !isEnd) return 0;
    writer.dataOf(stream, { bytes, isEnd });
    stream.sendWindowBytes -= bytes;
    this.#sendWindowBytes -= bytes;
    if (isEnd) this.#answered(stream);
    return bytes + frameHeaderBytes;
  }

  /** The answer is whole. The rest of the request is not waited for (RFC 9113 section 8.1). */
  #answered(stream: Http2Stream): void {
    if (!stream.isRequestWhole) {
      this.#remember(stream.id);
      writer.frame(resetFrame(stream.id, errorCodes.noError));
    }
    this.#end(stream);
  }
}

/** RFC 9113 section 6.1. */
function withoutPadding(payload: Buffer): Buffer {
  const padding = payload[0];
  if (padding === undefined) throw new ConnectionError(errorCodes.frameSizeError, "a padded frame is empty");
  if (padding >= payload.length)
    throw new ConnectionError(errorCodes.protocolError, "the padding is longer than the frame");
  return payload.subarray(1, payload.length - padding);
}
