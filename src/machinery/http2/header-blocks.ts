import { ByteAccumulator } from "../api/bytes/byte-accumulator.ts";
import { withoutPadding } from "./frame-input.ts";
import type { Frame } from "./frame-input.ts";
import { ConnectionError, errorCodes, flags, frameTypes, maximumWindowBytes } from "./protocol.ts";

/** A whole header block: the fields of a request or an answer, or trailers. */
export interface HeaderBlock {
  readonly streamId: number;
  /** Whether nothing follows on the stream. */
  readonly isEnd: boolean;
  readonly bytes: Buffer;
}

interface OpenBlock extends Omit<HeaderBlock, "bytes"> {
  readonly bytes: ByteAccumulator;
}

/** The bytes of a priority, which is deprecated and ignored (RFC 9113 section 5.3.2). */
const priorityBytes = 5;

/** Joins the header blocks of one connection, which may come in several frames (RFC 9113 section 4.3). Methods throw a ConnectionError. */
export class HeaderBlocks {
  readonly #maximumBytes: number;
  #open: OpenBlock | undefined;

  /** A block of one frame may be longer than `maximumBytes`. */
  constructor({ maximumBytes }: { readonly maximumBytes: number }) {
    this.#maximumBytes = maximumBytes;
  }

  /** Throws for a frame that comes between the frames of a block. */
  checkOrder({ type, streamId }: Frame): void {
    if (this.#open === undefined || (type === frameTypes.continuation && streamId === this.#open.streamId)) return;
    throw new ConnectionError(errorCodes.protocolError, "a header block is not continued");
  }

  /** Reads HEADERS (RFC 9113 section 6.2). Returns the block, unless more of it follows. */
  begin(frame: Frame): HeaderBlock | undefined {
    const { streamId } = frame;
    let bytes = withoutPadding(frame);
    if ((frame.flags & flags.priority) !== 0) {
      if (bytes.length < priorityBytes) throw new ConnectionError(errorCodes.frameSizeError, "HEADERS are too short");
      if ((bytes.readUInt32BE(0) & maximumWindowBytes) === streamId)
        throw new ConnectionError(errorCodes.protocolError, "a stream depends on itself");
      bytes = bytes.subarray(priorityBytes);
    }
    const isEnd = (frame.flags & flags.endStream) !== 0;
    if ((frame.flags & flags.endHeaders) !== 0) return { streamId, isEnd, bytes };
    this.#open = { streamId, isEnd, bytes: new ByteAccumulator() };
    this.#open.bytes.add(bytes);
    return undefined;
  }

  /** Reads CONTINUATION (RFC 9113 section 6.10). Returns the block once it is whole. */
  continue({ flags: frameFlags, payload }: Frame): HeaderBlock | undefined {
    const open = this.#open;
    if (open === undefined) throw new ConnectionError(errorCodes.protocolError, "CONTINUATION continues nothing");
    open.bytes.add(payload);
    // An endless block would fill the memory (CVE-2024-27316).
    if (open.bytes.length > this.#maximumBytes)
      throw new ConnectionError(errorCodes.enhanceYourCalm, "a header block is too large");
    if ((frameFlags & flags.endHeaders) === 0) return undefined;
    this.#open = undefined;
    return { ...open, bytes: open.bytes.take() };
  }

  /** Discards the frames of an incomplete block. */
  clear(): void {
    this.#open = undefined;
  }
}
