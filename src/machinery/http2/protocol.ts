/** The numbers of HTTP/2 (RFC 9113). */

/** RFC 9113 section 6. */
export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flags = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

/** RFC 9113 section 6.5.2. */
export const settingIds = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** RFC 9113 section 7. */
export const errorCodes = {
  noError: 0x0,
  protocolError: 0x1,
  internalError: 0x2,
  flowControlError: 0x3,
  streamClosed: 0x5,
  frameSizeError: 0x6,
  refusedStream: 0x7,
  cancel: 0x8,
  compressionError: 0x9,
  enhanceYourCalm: 0xb,
} as const;

export type ErrorCode = (typeof errorCodes)[keyof typeof errorCodes];

export const frameHeaderBytes = 9;
/** The largest frame that every peer must accept, and the largest that this server accepts or sends. */
export const maximumFrameBytes = 16_384;
export const defaultWindowBytes = 65_535;
export const maximumWindowBytes = 0x7fff_ffff;
/** What a client sends first, before its SETTINGS frame (RFC 9113 section 3.4). */
export const clientPreface: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** A fault of the peer that ends the connection (RFC 9113 section 5.4.1). */
export class ConnectionError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
