import { writeFrameHeader } from "./control-frames.ts";
import type { FrameHeader } from "./control-frames.ts";
import { staticTable } from "./header-table.ts";
import type { PendingBytes } from "./pending-bytes.ts";
import { flags, frameHeaderBytes, frameTypes, maximumFrameBytes } from "./protocol.ts";

type ResponseHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface ResponseHead {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ResponseHeaders;
}

/** A stream whose body is sent over time. */
interface PendingBody {
  readonly id: number;
  readonly pending: PendingBytes;
}

/** The first index of each name in the static table. */
const nameIndexes = new Map<string, number>();
/** The index of each status whose value is in the static table. */
const statusIndexes = new Map<number, number>();
for (const [at, [name, value]] of staticTable.entries()) {
  if (!nameIndexes.has(name)) nameIndexes.set(name, at + 1);
  if (name === ":status") statusIndexes.set(Number(value), at + 1);
}
const statusNameIndex = nameIndexes.get(":status") ?? 0;

/** An upper bound for the bytes of a field's index and two lengths. */
const fieldOverheadBytes = 16;
const slabBytes = 64 * 1024;
/** How many slabs are kept for later: two mebibytes. */
const maximumFreeSlabs = 32;

/**
 * A buffer that frames are written to. It is used again when all writes from it are done, because new buffers would be work for the garbage
 * collector.
 */
class Slab {
  readonly bytes: Buffer;
  /** The index of the next frame. */
  at = 0;
  /** The bytes before this index were passed to `send`. */
  sentTo = 0;
  #unfinishedWrites = 0;

  constructor(byteLength: number) {
    this.bytes = Buffer.allocUnsafeSlow(byteLength);
  }

  get isIdle(): boolean {
    return this.#unfinishedWrites === 0;
  }

  /** Sends the bytes that were written since the last call. */
  send(send: Send): void {
    if (this.at === this.sentTo) return;
    const bytes = this.bytes.subarray(this.sentTo, this.at);
    this.sentTo = this.at;
    this.#unfinishedWrites++;
    send(bytes, this.#onWritten);
  }

  readonly #onWritten = (): void => {
    this.#unfinishedWrites--;
  };
}

/** Writes bytes to a connection. Calls `onWritten` once they may be overwritten, also when the write fails. */
type Send = (bytes: Buffer, onWritten: () => void) => void;

/**
 * Writes frames one after the other into large buffers, and sends these in as few pieces as possible.
 */
export class FrameWriter {
  #slab = new Slab(slabBytes);
  /** The slabs that are full. */
  #used: Slab[] = [];
  #send: Send = () => undefined;

  /** Frames until the next `flush` are sent with this function. Drops frames that another connection has not sent after an error. */
  begin(send: Send): void {
    this.#slab.sentTo = this.#slab.at;
    this.#send = send;
    if (!this.#slab.isIdle) return;
    this.#slab.at = 0;
    this.#slab.sentTo = 0;
  }

  flush(): void {
    this.#slab.send(this.#send);
  }

  /** Writes a whole frame. */
  frame(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes(bytes);
  }

  /** Writes a header block that fits into one frame (RFC 9113 section 6.2). */
  headerBlock(block: Buffer, { streamId }: { readonly streamId: number }): void {
    this.#reserve(frameHeaderBytes + block.length);
    this.#header({ type: frameTypes.headers, flags: flags.endHeaders, streamId, length: block.length });
    this.#bytes(block);
  }

  /**
   * Writes the head of an answer (RFC 9113 section 6.2). Returns the number of written bytes. Throws a TypeError, and writes nothing, for a
   * header that HTTP does not allow.
   */
  headers(
    head: ResponseHead,
    { streamId, isEnd, isFirst }: { readonly streamId: number; readonly isEnd: boolean; readonly isFirst: boolean },
  ): number {
    const endFlag = isEnd ? flags.endStream : 0;
    this.#reserve(frameHeaderBytes + maximumBlockBytes(head.headers));
    const start = this.#slab.at;
    this.#header({ type: frameTypes.headers, flags: flags.endHeaders | endFlag, streamId, length: 0 });
    try {
      this.#block(head, { isFirst });
    } catch (error) {
      this.#slab.at = start;
      throw error;
    }
    const length = this.#slab.at - start - frameHeaderBytes;
    if (length > maximumFrameBytes) this.#splitBlock(start, { streamId, endFlag });
    else {
      this.#slab.bytes[start + 1] = length >>> 8;
      this.#slab.bytes[start + 2] = length;
    }
    return this.#slab.at - start;
  }

  /** Writes a whole body in a frame that ends its stream. */
  data(
    content: string | Buffer,
    { streamId, byteLength }: { readonly streamId: number; readonly byteLength: number },
  ): void {
    this.#reserve(frameHeaderBytes + byteLength);
    this.#header({ type: frameTypes.data, flags: flags.endStream, streamId, length: byteLength });
    if (typeof content !== "string") return this.#bytes(content);
    if (byteLength === content.length) this.#slab.bytes.write(content, this.#slab.at, byteLength, "latin1");
    else this.#slab.bytes.write(content, this.#slab.at, byteLength, "utf8");
    this.#slab.at += byteLength;
  }

  /** Writes a frame with the next bytes of a body, and removes them from the body. */
  dataOf(body: PendingBody, { bytes, isEnd }: { readonly bytes: number; readonly isEnd: boolean }): void {
    this.#reserve(frameHeaderBytes + bytes);
    this.#header({ type: frameTypes.data, flags: isEnd ? flags.endStream : 0, streamId: body.id, length: bytes });
    body.pending.moveTo(this.#slab.bytes, this.#slab.at, bytes);
    this.#slab.at += bytes;
  }

  /** Makes space for the next bytes. */
  #reserve(bytes: number): void {
    if (this.#slab.at + bytes <= this.#slab.bytes.length) return;
    this.flush();
    if (this.#used.length < maximumFreeSlabs && this.#slab.bytes.length === slabBytes) this.#used.push(this.#slab);
    this.#slab = bytes > slabBytes ? new Slab(bytes) : this.#idleSlab();
  }

  #idleSlab(): Slab {
    const at = this.#used.findIndex(({ isIdle }) => isIdle);
    const slab = this.#used[at];
    if (slab === undefined) return new Slab(slabBytes);
    this.#used.splice(at, 1);
    slab.at = 0;
    slab.sentTo = 0;
    return slab;
  }

  #bytes(bytes: Uint8Array): void {
    this.#slab.bytes.set(bytes, this.#slab.at);
    this.#slab.at += bytes.length;
  }

  #header(header: FrameHeader): void {
    writeFrameHeader(this.#slab.bytes, this.#slab.at, header);
    this.#slab.at += frameHeaderBytes;
  }

  /** Writes a long header block again, in several frames (RFC 9113 section 6.10). */
  #splitBlock(start: number, { streamId, endFlag }: { readonly streamId: number; readonly endFlag: number }): void {
    const block = Buffer.from(this.#slab.bytes.subarray(start + frameHeaderBytes, this.#slab.at));
    this.#slab.at = start;
    for (let at = 0; at < block.length; at += maximumFrameBytes) {
      const part = block.subarray(at, at + maximumFrameBytes);
      const isLast = at + part.length === block.length;
      this.#reserve(frameHeaderBytes + part.length);
      this.#header({
        type: at === 0 ? frameTypes.headers : frameTypes.continuation,
        flags: (at === 0 ? endFlag : 0) | (isLast ? flags.endHeaders : 0),
        streamId,
        length: part.length,
      });
      this.#bytes(part);
    }
  }

  /** Writes a header block (HPACK, RFC 7541). Fields are literals without indexing, so the server keeps no table for each connection. */
  #block({ status, headers }: ResponseHead, { isFirst }: { readonly isFirst: boolean }): void {
    // This side never uses its table. But a client may have allowed a smaller table than the default, which has to be confirmed.
    if (isFirst) this.#slab.bytes[this.#slab.at++] = 0x20;
    const statusIndex = statusIndexes.get(status);
    if (statusIndex === undefined) {
      this.#slab.bytes[this.#slab.at++] = statusNameIndex;
      this.#string(String(status));
    } else this.#slab.bytes[this.#slab.at++] = 0x80 | statusIndex;
    for (const name in headers) {
      const value = headers[name];
      if (typeof value === "string") this.#field(name, value);
      else if (value !== undefined) for (const one of value) this.#field(name, one);
    }
  }

  #field(name: string, value: string): void {
    const nameIndex = nameIndexes.get(name);
    this.#integer(nameIndex ?? 0, 4);
    if (nameIndex === undefined) this.#string(name);
    this.#string(value);
  }

  /** Writes a text without Huffman code, which would cost more than the few bytes that it saves. */
  #string(text: string): void {
    const { length } = text;
    this.#integer(length, 7);
    const { bytes, at } = this.#slab;
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index);
      if ((code < 0x20 && code !== 0x09) || code === 0x7f || code > 0xff)
        throw new TypeError("a header of an answer has a character that HTTP does not allow");
      bytes[at + index] = code;
    }
    this.#slab.at = at + length;
  }

  /** RFC 7541 section 5.1, with zeros before the prefix. */
  #integer(value: number, prefixBits: number): void {
    const largestPrefix = (1 << prefixBits) - 1;
    if (value < largestPrefix) {
      this.#slab.bytes[this.#slab.at++] = value;
      return;
    }
    this.#slab.bytes[this.#slab.at++] = largestPrefix;
    let rest = value - largestPrefix;
    for (; rest >= 0x80; rest >>>= 7) this.#slab.bytes[this.#slab.at++] = (rest & 0x7f) | 0x80;
    this.#slab.bytes[this.#slab.at++] = rest;
  }
}

/** An upper bound of the bytes of a header block. */
function maximumBlockBytes(headers: ResponseHeaders): number {
  let bytes = fieldOverheadBytes;
  for (const name in headers) {
    const value = headers[name];
    if (typeof value === "string") bytes += name.length + value.length + fieldOverheadBytes;
    else if (value !== undefined) for (const one of value) bytes += name.length + one.length + fieldOverheadBytes;
  }
  return bytes;
}
