import { AnswerTooLong, GrpcError, grpcStatus } from "./grpc-error.ts";

const headerBytes = 5;

/**
 * Encodes a message for the wire: a flag (not compressed), its length and its bytes (gRPC over HTTP/2,
 * Length-Prefixed-Message).
 */
export function encodeFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, headerBytes);
  return frame;
}

/** Splits a stream of bytes into messages. */
export class FrameReader {
  readonly #maximumMessageBytes: number;
  #chunks: Buffer[] = [];
  #length = 0;
  /** The length of the current frame; undefined until its header has arrived. */
  #frameLength: number | undefined;

  constructor(maximumMessageBytes: number) {
    this.#maximumMessageBytes = maximumMessageBytes;
  }

  /**
   * Returns the messages that a chunk completes. Throws GrpcError for a frame that is compressed, and AnswerTooLong for one
   * that is too long.
   */
  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    const messages: Buffer[] = [];
    for (;;) {
      if (this.#frameLength === undefined) {
        if (this.#length < headerBytes) return messages;
        this.#frameLength = frameLength(this.#joined(), this.#maximumMessageBytes);
      }
      if (this.#length < this.#frameLength) return messages;
      const received = this.#joined();
      messages.push(received.subarray(headerBytes, this.#frameLength));
      const rest = received.subarray(this.#frameLength);
      this.#chunks = rest.length === 0 ? [] : [rest];
      this.#length = rest.length;
      this.#frameLength = undefined;
    }
  }

  #joined(): Buffer {
    const joined = this.#chunks.length === 1 ? this.#chunks[0] : undefined;
    if (joined !== undefined) return joined;
    const copy = Buffer.concat(this.#chunks);
    this.#chunks = [copy];
    return copy;
  }
}

function frameLength(header: Buffer, maximumMessageBytes: number): number {
  const length = header.readUInt32BE(1);
  const failure = { code: grpcStatus.internal, mayHaveRun: true };
  if (header[0] !== 0) throw new GrpcError("the server sent a compressed message, which can't be read", failure);
  if (length > maximumMessageBytes) {
    throw new AnswerTooLong(
      `the server sent a message of ${length} bytes, and ${maximumMessageBytes} can be read`,
      failure,
    );
  }
  return headerBytes + length;
}
