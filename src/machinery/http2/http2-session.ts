import type { Duplex } from "node:stream";
import { noBytes } from "../api/bytes/no-bytes.ts";
import { ConnectionReader } from "./connection-reader.ts";
import type { DataFrame } from "./connection-reader.ts";
import {
  continueFrame,
  goAwayFrame,
  pingAcknowledgement,
  readSetting,
  resetFrame,
  settingsAcknowledgement,
  settingsFrame,
  windowUpdateFrame,
} from "./control-frames.ts";
import { EndedStreams } from "./ended-streams.ts";
import { FrameAllowance } from "./frame-allowance.ts";
import { FrameOutput } from "./frame-output.ts";
import type { Frame } from "./frame-input.ts";
import type { HeaderBlock } from "./header-blocks.ts";
import { HeaderDecoder } from "./header-decoder.ts";
import { Http2Stream } from "./http2-stream.ts";
import type { StreamSession } from "./http2-stream.ts";
import {
  ConnectionError,
  defaultWindowBytes,
  errorCodes,
  maximumFrameBytes,
  maximumWindowBytes,
  settingIds,
} from "./protocol.ts";
import type { ErrorCode } from "./protocol.ts";
import { ReceiveWindow } from "./receive-window.ts";
import { RequestHead, Trailers } from "./request-head.ts";
import type { HeadLimits } from "./request-head.ts";

export interface Http2Limits extends HeadLimits {
  /** The maximum number of simultaneous streams in one connection. */
  readonly concurrentStreams: number;
  /**
   * How many frames without content, which only make work, a client may send at once, and then per second: resets (CVE-2023-44487), frames
   * that make the server reset a stream (CVE-2025-8671), empty frames (CVE-2019-9518), settings, answers to pings that were never sent,
   * headers of a closed stream.
   */
  readonly emptyFrameBurst: number;
  readonly emptyFramesPerSecond: number;
}

export interface Http2SessionOptions {
  /** The connection. The session writes to it, and ends it. */
  readonly socket: Duplex;
  readonly limits: Http2Limits;
  readonly nowSeconds: () => number;
  /** Called with each request, before its body has come. A head that exceeds the limits lacks fields. */
  readonly onRequest: (stream: Http2Stream, head: RequestHead) => void;
}

/** After its end, a session reads and ignores at most so many bytes, so that the client gets its last frames. */
const maximumIgnoredBytes = 1024 * 1024;

/**
 * The server's side of an HTTP/2 connection (RFC 9113). It checks all that a client sends, and limits the memory and work that a client
 * can cause. There are no priorities, no push, and no compression of answers' headers.
 */
export class Http2Session implements StreamSession {
  readonly #socket: Duplex;
  readonly #limits: Http2Limits;
  readonly #nowSeconds: () => number;
  readonly #onRequest: Http2SessionOptions["onRequest"];
  readonly #reader: ConnectionReader;
  readonly #decoder = new HeaderDecoder();
  readonly #output: FrameOutput;
  readonly #streams = new Map<number, Http2Stream>();
  readonly #ended = new EndedStreams((streamId) => this.#output.queue(resetFrame(streamId, errorCodes.noError)));
  #lastStreamId = 0;

  readonly #receiveWindow = new ReceiveWindow();
  /** The window for each new answer: how many bytes of it the client accepts. */
  #initialSendWindowBytes = defaultWindowBytes;

  readonly #allowance: FrameAllowance;
  /** Whether new streams are refused. Open streams continue. */
  #isClosing = false;
  /** Whether the connection has ended: further bytes are ignored. */
  #isOver = false;
  #ignoredBytes = 0;

  constructor({ socket, limits, nowSeconds, onRequest }: Http2SessionOptions) {
    this.#socket = socket;
    this.#limits = limits;
    this.#reader = new ConnectionReader({
      from: "client",
      maximumBlockBytes: limits.headerBytes + maximumFrameBytes,
      handler: {
        onData: (frame) => this.#readData(frame),
        onHeaders: (block) => this.#readHeaders(block),
        onReset: ({ streamId }) => this.#readReset(streamId),
        onSettings: (payload) => this.#readSettings(payload),
        onPing: (payload) => this.#output.queue(pingAcknowledgement(payload)),
        // This side sends no pings, so such an answer only makes work.
        onPingAnswer: () => this.#allowance.take(),
        onGoAway: () => this.close(),
        onWindowUpdate: (update) => this.#readWindowUpdate(update),
        onPriority: (frame) => this.#readPriority(frame),
        onFrameWithoutEffect: () => this.#allowance.take(),
      },
    });
    this.#nowSeconds = nowSeconds;
    this.#onRequest = onRequest;
    this.#allowance = new FrameAllowance({
      burst: limits.emptyFrameBurst,
      perSecond: limits.emptyFramesPerSecond,
      nowSeconds,
    });
    this.#output = new FrameOutput({ socket, onAnswered: (stream) => this.#answered(stream) });
    this.#output.queue(
      settingsFrame([
        [settingIds.maxConcurrentStreams, limits.concurrentStreams],
        [settingIds.maxHeaderListSize, limits.headerBytes],
      ]),
    );
    // A client that closes its side does not wait for answers.
    socket.on("end", () => this.destroy());
    socket.on("error", () => this.destroy());
    socket.on("close", () => this.#closeStreams());
  }

  /** Refuses new requests in a way that says that they were not processed. The connection ends with the last open stream. */
  close(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#output.queue(goAwayFrame({ lastStreamId: this.#lastStreamId }));
    if (this.#streams.size === 0) this.#output.end();
  }

  /** Resets streams whose clients continue to send an answered request. Call it every second. */
  sweep(): void {
    this.#ended.sweep(this.#nowSeconds());
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#socket.destroy();
    this.#closeStreams();
  }

  #closeStreams(): void {
    this.#isOver = true;
    this.#reader.end();
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    for (const stream of streams) stream.close();
  }

  // Receiving

  /** Call it with all received bytes of the connection. */
  read(bytes: Buffer): void {
    if (this.#isOver) {
      this.#ignoredBytes += bytes.length;
      if (this.#ignoredBytes > maximumIgnoredBytes) this.#socket.destroy();
      return;
    }
    try {
      this.#reader.read(bytes);
      this.#output.flushAnswers();
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      this.#fail(error);
    }
  }

  #readData({ streamId, data, frameBytes, isEnd }: DataFrame): void {
    if (!this.#receiveWindow.receive(frameBytes))
      throw new ConnectionError(errorCodes.flowControlError, "DATA exceeds the connection's window");
    if (data.length === 0 && !isEnd) this.#allowance.take();
    const stream = this.#streams.get(streamId);
    if (stream === undefined) {
      this.consume(frameBytes);
      if (isEnd) this.#ended.finish(streamId);
      // Some clients read their answer only after they have sent the whole request.
      else if (frameBytes > 0 && this.#ended.isUnfinished(streamId))
        this.#output.queue(windowUpdateFrame(streamId, frameBytes));
      return this.#ignoreClosed(streamId);
    }
    const fault = stream.receive(data, { frameBytes, isEnd });
    if (fault === undefined) return;
    this.consume(frameBytes);
    this.#refuse(stream, fault);
  }

  /**
   * Ignores a frame of a stream that this side has closed, or has not opened because the connection closes: the frame may have been under
   * way then. Throws a ConnectionError for other streams.
   */
  #ignoreClosed(streamId: number): void {
    if (streamId > this.#lastStreamId) {
      if (this.#isClosing && streamId % 2 === 1) return;
      throw new ConnectionError(errorCodes.protocolError, "a frame is of a stream that is not open");
    }
    if (!this.#ended.has(streamId)) throw new ConnectionError(errorCodes.streamClosed, "a frame is of a closed stream");
  }

  #readHeaders(block: HeaderBlock): void {
    const { streamId, isEnd, bytes } = block;
    if (streamId % 2 === 0) throw new ConnectionError(errorCodes.protocolError, "a client's stream has an even number");
    const open = this.#streams.get(streamId);
    if (open !== undefined) return this.#readTrailers(open, block);
    const head = new RequestHead(this.#limits, bytes.length);
    this.#decoder.decode(bytes, head);
    if (streamId <= this.#lastStreamId) {
      this.#ignoreClosed(streamId);
      // Trailers may end an answered request, once.
      if (!isEnd || !this.#ended.finish(streamId)) this.#allowance.take();
      return;
    }
    if (this.#isClosing) return;
    this.#lastStreamId = streamId;
    if (this.#streams.size >= this.#limits.concurrentStreams)
      return this.#refuseStream(streamId, errorCodes.refusedStream);
    const isMalformed = head.isMalformed || (isEnd && (head.contentLength ?? 0) > 0);
    if (isMalformed && !head.isTooLarge) return this.#refuseStream(streamId, errorCodes.protocolError);
    const stream = new Http2Stream(this, {
      id: streamId,
      head,
      hasBody: !isEnd,
      sendWindowBytes: this.#initialSendWindowBytes,
    });
    this.#streams.set(streamId, stream);
    this.#onRequest(stream, head);
  }

  /** RFC 9113 section 8.1. */
  #readTrailers(stream: Http2Stream, { bytes, isEnd }: HeaderBlock): void {
    const trailers = new Trailers();
    this.#decoder.decode(bytes, trailers);
    const isMalformed = !stream.isRequestWhole && (!isEnd || trailers.isMalformed);
    const fault = isMalformed ? errorCodes.protocolError : stream.receive(noBytes, { frameBytes: 0, isEnd });
    if (fault !== undefined) this.#refuse(stream, fault);
  }

  #readPriority({ streamId, payload }: Frame): void {
    this.#allowance.take();
    const isSelf = payload.length === 5 && (payload.readUInt32BE(0) & maximumWindowBytes) === streamId;
    if (payload.length === 5 && !isSelf) return;
    const code = isSelf ? errorCodes.protocolError : errorCodes.frameSizeError;
    const stream = this.#streams.get(streamId);
    if (stream === undefined) throw new ConnectionError(code, "PRIORITY is malformed");
    this.#refuse(stream, code);
  }

  #readReset(streamId: number): void {
    if (streamId > this.#lastStreamId && !this.#isClosing)
      throw new ConnectionError(errorCodes.protocolError, "RST_STREAM is of a stream that is not open");
    // No fault: the client stops sending a request that is already answered.
    if (this.#ended.finish(streamId)) return;
    const stream = this.#streams.get(streamId);
    // A reset is the only way for a client to end a watch.
    if (stream?.hasBegunAnswer !== true) this.#allowance.take();
    if (stream !== undefined) this.#end(stream);
  }

  #readSettings(payload: Buffer): void {
    this.#allowance.take();
    const windowBytes = readSetting(payload, settingIds.initialWindowSize) ?? this.#initialSendWindowBytes;
    const difference = windowBytes - this.#initialSendWindowBytes;
    this.#initialSendWindowBytes = windowBytes;
    if (difference !== 0) for (const stream of this.#streams.values()) this.#widenAnswer(stream, difference);
    this.#output.queue(settingsAcknowledgement);
  }

  /** RFC 9113 section 6.9.2: a window can become negative. */
  #widenAnswer(stream: Http2Stream, bytes: number): void {
    stream.sendWindowBytes += bytes;
    if (stream.sendWindowBytes > maximumWindowBytes) return this.#refuse(stream, errorCodes.flowControlError);
    if (stream.pending.length > 0) this.schedule(stream);
  }

  #readWindowUpdate({ streamId, bytes }: { readonly streamId: number; readonly bytes: number }): void {
    if (streamId === 0) {
      if (this.#output.widen(bytes)) return;
      throw new ConnectionError(errorCodes.flowControlError, "the connection's window is too large");
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) {
      if (streamId <= this.#lastStreamId || this.#isClosing) return;
      throw new ConnectionError(errorCodes.protocolError, "WINDOW_UPDATE is of a stream that is not open");
    }
    if (bytes === 0) this.#refuse(stream, errorCodes.protocolError);
    else this.#widenAnswer(stream, bytes);
  }

  // Faults of the client

  /** The client broke a rule that concerns one stream (RFC 9113 section 5.4.2). */
  #refuse(stream: Http2Stream, code: ErrorCode): void {
    this.#allowance.take();
    this.reset(stream, code);
  }

  #refuseStream(streamId: number, code: ErrorCode): void {
    this.#allowance.take();
    this.#ended.add(streamId);
    this.#output.queue(resetFrame(streamId, code));
  }

  /** Tells the client why, and ends the connection. */
  #fail({ code, message }: ConnectionError): void {
    this.#output.queue(goAwayFrame({ lastStreamId: this.#lastStreamId, code, text: message }));
    this.#closeStreams();
    this.#output.end();
  }

  // Streams

  schedule(stream: Http2Stream): void {
    this.#output.schedule(stream);
  }

  reset(stream: Http2Stream, code: ErrorCode): void {
    if (stream.isClosed) return;
    this.#ended.add(stream.id);
    this.#output.queue(resetFrame(stream.id, code));
    this.#end(stream);
  }

  refuse(stream: Http2Stream): void {
    this.#refuse(stream, errorCodes.refusedStream);
  }

  consume(bytes: number): void {
    const widenedBy = this.#receiveWindow.consume(bytes);
    if (widenedBy > 0) this.#output.queue(windowUpdateFrame(0, widenedBy));
  }

  askForBody(stream: Http2Stream): void {
    this.#output.queue(continueFrame(stream.id));
  }

  widen(stream: Http2Stream, bytes: number): void {
    this.#output.queue(windowUpdateFrame(stream.id, bytes));
  }

  #answered(stream: Http2Stream): void {
    if (!stream.isRequestWhole) this.#ended.addAnswered(stream.id, this.#nowSeconds());
    this.#end(stream);
  }

  /** Ends a stream: nothing more is sent or received on it. */
  #end(stream: Http2Stream): void {
    this.#streams.delete(stream.id);
    this.#output.forget(stream);
    this.consume(stream.unreadFrameBytes);
    stream.close();
    if (this.#isClosing && this.#streams.size === 0) this.#output.end();
  }
}
