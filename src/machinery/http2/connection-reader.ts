import { checkSettings } from "./control-frames.ts";
import { FrameInput, withoutPadding } from "./frame-input.ts";
import type { Frame } from "./frame-input.ts";
import { HeaderBlocks } from "./header-blocks.ts";
import type { HeaderBlock } from "./header-blocks.ts";
import { ConnectionError, errorCodes, flags, frameTypes, maximumWindowBytes } from "./protocol.ts";

/** A part of a body. */
export interface DataFrame {
  readonly streamId: number;
  /** A view of the received bytes, which are not copied. */
  readonly data: Buffer;
  /** What the frame takes from the flow-control windows: the data with its padding. */
  readonly frameBytes: number;
  /** Whether nothing follows on the stream. */
  readonly isEnd: boolean;
}

/**
 * Handles the frames that the other side of a connection sends. Each frame is well-formed by itself. The handler decides whether it may
 * come now and on this stream. Methods may throw a ConnectionError.
 */
export interface FrameHandler {
  readonly onData: (frame: DataFrame) => void;
  readonly onHeaders: (block: HeaderBlock) => void;
  readonly onReset: (reset: { readonly streamId: number; readonly code: number }) => void;
  /** The payload of SETTINGS, whose values are valid. */
  readonly onSettings: (payload: Buffer) => void;
  readonly onPing: (payload: Buffer) => void;
  /** The answer to the oldest unanswered ping. */
  readonly onPingAnswer: () => void;
  readonly onGoAway: (goAway: { readonly lastStreamId: number; readonly code: number }) => void;
  /** Stream 0 is the connection. An increment of 0 is possible only for a stream. */
  readonly onWindowUpdate: (update: { readonly streamId: number; readonly bytes: number }) => void;
  /** RFC 9113 section 5.3.2: priorities are deprecated. */
  readonly onPriority: (frame: Frame) => void;
  /** A frame without effect: of an unknown type, an empty continuation, or the acknowledgement of settings. */
  readonly onFrameWithoutEffect: () => void;
}

export interface ConnectionReaderOptions {
  /** The side that sends the frames. */
  readonly from: "client" | "server";
  /** The limit for header blocks of several frames. A block of one frame may be longer. */
  readonly maximumBlockBytes: number;
  readonly handler: FrameHandler;
}

/** Reads the frames that the other side of a connection sends (RFC 9113 section 6). Servers and clients use it in the same way. */
export class ConnectionReader {
  readonly #input: FrameInput;
  readonly #blocks: HeaderBlocks;
  readonly #handler: FrameHandler;
  #hasSettings = false;
  #isOver = false;

  constructor({ from, maximumBlockBytes, handler }: ConnectionReaderOptions) {
    this.#input = new FrameInput({ from });
    this.#blocks = new HeaderBlocks({ maximumBytes: maximumBlockBytes });
    this.#handler = handler;
  }

  /** Reads received bytes. Throws a ConnectionError. */
  read(bytes: Buffer): void {
    this.#input.read(bytes, this.#onFrame);
  }

  /** Stops reading, also of bytes that it has already received. */
  end(): void {
    this.#isOver = true;
    this.#blocks.clear();
  }

  readonly #onFrame = (frame: Frame): boolean => {
    this.#readFrame(frame);
    return !this.#isOver;
  };

  #readFrame(frame: Frame): void {
    const { type } = frame;
    if (!this.#hasSettings && type !== frameTypes.settings)
      throw new ConnectionError(errorCodes.protocolError, "the first frame is not SETTINGS");
    this.#blocks.checkOrder(frame);
    switch (type) {
      case frameTypes.data:
        return this.#readData(frame);
      case frameTypes.headers:
        ofStream(frame, "HEADERS");
        return this.#giveBlock(this.#blocks.begin(frame));
      case frameTypes.continuation:
        if (frame.payload.length === 0) this.#handler.onFrameWithoutEffect();
        return this.#giveBlock(this.#blocks.continue(frame));
      case frameTypes.priority:
        ofStream(frame, "PRIORITY");
        return this.#handler.onPriority(frame);
      case frameTypes.resetStream:
        return this.#readReset(frame);
      case frameTypes.settings:
        return this.#readSettings(frame);
      case frameTypes.pushPromise:
        throw new ConnectionError(errorCodes.protocolError, "a push was not allowed");
      case frameTypes.ping:
        return this.#readPing(frame);
      case frameTypes.goAway:
        return this.#readGoAway(frame);
      case frameTypes.windowUpdate:
        return this.#readWindowUpdate(frame);
      default: // RFC 9113 section 5.5: unknown types are ignored.
        return this.#handler.onFrameWithoutEffect();
    }
  }

  /** RFC 9113 section 6.1. */
  #readData(frame: Frame): void {
    const { streamId, payload } = ofStream(frame, "DATA");
    const isEnd = (frame.flags & flags.endStream) !== 0;
    this.#handler.onData({ streamId, data: withoutPadding(frame), frameBytes: payload.length, isEnd });
  }

  #giveBlock(block: HeaderBlock | undefined): void {
    if (block !== undefined) this.#handler.onHeaders(block);
  }

  /** RFC 9113 section 6.4. */
  #readReset(frame: Frame): void {
    const { streamId, payload } = ofStream(frame, "RST_STREAM");
    if (payload.length !== 4) throw wrongLength("RST_STREAM has");
    this.#handler.onReset({ streamId, code: payload.readUInt32BE(0) });
  }

  /** RFC 9113 section 6.5. */
  #readSettings(frame: Frame): void {
    const { payload } = ofConnection(frame, "SETTINGS");
    const isAcknowledgement = (frame.flags & flags.ack) !== 0;
    if (payload.length % 6 !== 0 || (isAcknowledgement && payload.length > 0)) throw wrongLength("SETTINGS have");
    if (isAcknowledgement) return this.#handler.onFrameWithoutEffect();
    checkSettings(payload);
    this.#hasSettings = true;
    this.#handler.onSettings(payload);
  }

  /** RFC 9113 section 6.7. */
  #readPing(frame: Frame): void {
    const { payload } = ofConnection(frame, "PING");
    if (payload.length !== 8) throw wrongLength("PING has");
    if ((frame.flags & flags.ack) === 0) this.#handler.onPing(payload);
    else this.#handler.onPingAnswer();
  }

  /** RFC 9113 section 6.8. */
  #readGoAway(frame: Frame): void {
    const { payload } = ofConnection(frame, "GOAWAY");
    if (payload.length < 8) throw wrongLength("GOAWAY has");
    const lastStreamId = payload.readUInt32BE(0) & maximumWindowBytes;
    this.#handler.onGoAway({ lastStreamId, code: payload.readUInt32BE(4) });
  }

  /** RFC 9113 section 6.9. */
  #readWindowUpdate({ streamId, payload }: Frame): void {
    if (payload.length !== 4) throw wrongLength("WINDOW_UPDATE has");
    const bytes = payload.readUInt32BE(0) & maximumWindowBytes;
    if (streamId === 0 && bytes === 0)
      throw new ConnectionError(errorCodes.protocolError, "WINDOW_UPDATE adds nothing");
    this.#handler.onWindowUpdate({ streamId, bytes });
  }
}

function ofStream(frame: Frame, name: string): Frame {
  if (frame.streamId !== 0) return frame;
  throw new ConnectionError(errorCodes.protocolError, `${name} is of no stream`);
}

function ofConnection(frame: Frame, name: string): Frame {
  if (frame.streamId === 0) return frame;
  throw new ConnectionError(errorCodes.protocolError, `${name} is of a stream`);
}

const wrongLength = (what: string): ConnectionError =>
  new ConnectionError(errorCodes.frameSizeError, `${what} a wrong length`);
