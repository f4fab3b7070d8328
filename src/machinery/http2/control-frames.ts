import {
  ConnectionError,
  errorCodes,
  flags,
  frameHeaderBytes,
  frameTypes,
  maximumFrameBytes,
  maximumWindowBytes,
  settingIds,
} from "./protocol.ts";
import type { ErrorCode } from "./protocol.ts";

export interface FrameHeader {
  readonly type: number;
  readonly flags: number;
  /** 0 is the connection. */
  readonly streamId: number;
  /** The length of the payload in bytes. */
  readonly length: number;
}

/** RFC 9113 section 4.1. */
// oxlint-disable-next-line max-params -- called for every frame: another object each would cost
export function writeFrameHeader(
  target: Buffer,
  at: number,
  { type, flags: frameFlags, streamId, length }: FrameHeader,
): void {
  target[at] = length >>> 16;
  target[at + 1] = length >>> 8;
  target[at + 2] = length;
  target[at + 3] = type;
  target[at + 4] = frameFlags;
  target[at + 5] = streamId >>> 24;
  target[at + 6] = streamId >>> 16;
  target[at + 7] = streamId >>> 8;
  target[at + 8] = streamId;
}

/** Creates a frame whose payload is zeros: the caller writes it. */
function smallFrame(header: FrameHeader): Buffer {
  const frame = Buffer.alloc(frameHeaderBytes + header.length);
  writeFrameHeader(frame, 0, header);
  return frame;
}

/** RFC 9113 section 6.5. */
export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const frame = smallFrame({ type: frameTypes.settings, flags: 0, streamId: 0, length: settings.length * 6 });
  for (const [at, [id, value]] of settings.entries()) {
    frame.writeUInt16BE(id, frameHeaderBytes + at * 6);
    frame.writeUInt32BE(value, frameHeaderBytes + at * 6 + 2);
  }
  return frame;
}

/** Throws a ConnectionError for settings that a peer must not have (RFC 9113 section 6.5.2). */
export function checkSettings(payload: Buffer): void {
  for (let at = 0; at < payload.length; at += 6) {
    const id = payload.readUInt16BE(at);
    const value = payload.readUInt32BE(at + 2);
    if (id === settingIds.enablePush && value > 1)
      throw new ConnectionError(errorCodes.protocolError, "ENABLE_PUSH is neither 0 nor 1");
    if (id === settingIds.maxFrameSize && (value < maximumFrameBytes || value > 0xff_ffff))
      throw new ConnectionError(errorCodes.protocolError, "MAX_FRAME_SIZE is out of range");
    if (id === settingIds.initialWindowSize && value > maximumWindowBytes)
      throw new ConnectionError(errorCodes.flowControlError, "INITIAL_WINDOW_SIZE is out of range");
  }
}

/** The last value of a setting. Undefined: it is not set. */
export function readSetting(payload: Buffer, wanted: number): number | undefined {
  let found: number | undefined;
  for (let at = 0; at < payload.length; at += 6) {
    if (payload.readUInt16BE(at) === wanted) found = payload.readUInt32BE(at + 2);
  }
  return found;
}

export const settingsAcknowledgement: Buffer = smallFrame({
  type: frameTypes.settings,
  flags: flags.ack,
  streamId: 0,
  length: 0,
});

/** The answer to a ping with these eight bytes (RFC 9113 section 6.7). */
export function pingAcknowledgement(payload: Buffer): Buffer {
  const frame = smallFrame({ type: frameTypes.ping, flags: flags.ack, streamId: 0, length: payload.length });
  frame.set(payload, frameHeaderBytes);
  return frame;
}

/** A ping, whose eight bytes have no meaning (RFC 9113 section 6.7). */
export const pingFrame: Buffer = smallFrame({ type: frameTypes.ping, flags: 0, streamId: 0, length: 8 });

function frameWithNumber(
  type: number,
  { streamId, number }: { readonly streamId: number; readonly number: number },
): Buffer {
  const frame = smallFrame({ type, flags: 0, streamId, length: 4 });
  frame.writeUInt32BE(number, frameHeaderBytes);
  return frame;
}

export const resetFrame = (streamId: number, code: ErrorCode): Buffer =>
  frameWithNumber(frameTypes.resetStream, { streamId, number: code });

/** Stream 0 is the connection. */
export const windowUpdateFrame = (streamId: number, bytes: number): Buffer =>
  frameWithNumber(frameTypes.windowUpdate, { streamId, number: bytes });

/** The status 100 without other fields. Before it is the table size, which the first header block has to confirm (RFC 7541 section 4.2). */
const continueBlock = Buffer.from("\x20\x08\x03100", "latin1");

/** An interim answer: the client may send the body (RFC 9110 section 15.2.1). */
export function continueFrame(streamId: number): Buffer {
  const frame = smallFrame({
    type: frameTypes.headers,
    flags: flags.endHeaders,
    streamId,
    length: continueBlock.length,
  });
  frame.set(continueBlock, frameHeaderBytes);
  return frame;
}

/** GOAWAY (RFC 9113 section 6.8). The text is for people who debug the connection. */
export function goAwayFrame({
  lastStreamId,
  code = errorCodes.noError,
  text = "",
}: {
  readonly lastStreamId: number;
  readonly code?: ErrorCode;
  readonly text?: string;
}): Buffer {
  const frame = smallFrame({ type: frameTypes.goAway, flags: 0, streamId: 0, length: 8 + text.length });
  frame.writeUInt32BE(lastStreamId, frameHeaderBytes);
  frame.writeUInt32BE(code, frameHeaderBytes + 4);
  frame.write(text, frameHeaderBytes + 8, "latin1");
  return frame;
}
