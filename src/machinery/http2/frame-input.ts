import { ByteAccumulator } from "../api/bytes/byte-accumulator.ts";
import { clientPreface, ConnectionError, errorCodes, flags, frameHeaderBytes, maximumFrameBytes } from "./protocol.ts";

/** A frame (RFC 9113 section 4.1). The payload is a view of the received bytes, which are not copied. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  /** 0 is the connection. */
  readonly streamId: number;
  readonly payload: Buffer;
}

/** The content of a frame of a type that may be padded (RFC 9113 section 6.1). Throws a ConnectionError. */
export function withoutPadding({ flags: frameFlags, payload }: Frame): Buffer {
  if ((frameFlags & flags.padded) === 0) return payload;
  const padding = payload[0];
  if (padding === undefined) throw new ConnectionError(errorCodes.frameSizeError, "a padded frame is empty");
  if (padding >= payload.length)
    throw new ConnectionError(errorCodes.protocolError, "the padding is longer than the frame");
  return payload.subarray(1, payload.length - padding);
}

/** Divides the bytes of the peer into frames. The bytes of a client begin with the preface of the connection. */
export class FrameInput {
  readonly #waiting = new ByteAccumulator();
  /** How many bytes must have come before the next frame can be read. */
  #neededBytes = frameHeaderBytes;
  #hasPreface = true;

  constructor({ from }: { readonly from: "client" | "server" }) {
    if (from === "server") return;
    this.#hasPreface = false;
    this.#neededBytes = clientPreface.length;
  }

  /** Calls `onFrame` with each complete frame, until it returns false. Throws a ConnectionError. */
  read(bytes: Buffer, onFrame: (frame: Frame) => boolean): void {
    let chunk = bytes;
    if (this.#waiting.length > 0) {
      this.#waiting.add(bytes);
      if (this.#waiting.length < this.#neededBytes) return;
      chunk = this.#waiting.take();
    }
    const end = this.#readFrames(chunk, onFrame);
    if (end < chunk.length) this.#waiting.add(end === 0 ? chunk : chunk.subarray(end));
  }

  /** Returns where the first incomplete frame starts. */
  #readFrames(chunk: Buffer, onFrame: (frame: Frame) => boolean): number {
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
      const isWanted = onFrame({
        // The whole frame has come, so these bytes exist.
        type: chunk[at + 3] as number,
        flags: chunk[at + 4] as number,
        // The first bit is reserved.
        streamId: chunk.readUInt32BE(at + 5) & 0x7fff_ffff,
        payload: chunk.subarray(at + frameHeaderBytes, end),
      });
      if (!isWanted) return chunk.length;
      at = end;
    }
    this.#neededBytes = frameHeaderBytes;
    return at;
  }
}
