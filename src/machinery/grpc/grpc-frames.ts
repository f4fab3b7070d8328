import { ByteAccumulator } from "../api/bytes/byte-accumulator.ts";
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
  readonly #received = new ByteAccumulator();
  /** The length of the current frame; undefined until its header has arrived. */
  #frameLength: number | undefined;

  constructor(maximumMessageBytes: number) {
    this.#maximumMessageBytes = maximumMessageBytes;
  }

  /**
   * Returns the messages that a chunk completes. Throws GrpcError for a compressed frame, and AnswerTooLong for a frame that is too long.
   */
  push(chunk: Buffer): Buffer[] {
    this.#received.add(chunk);
    const messages: Buffer[] = [];
    while (this.#received.length >= (this.#frameLength ?? headerBytes)) {
      const received = this.#received.take();
      this.#frameLength ??= frameLength(received, this.#maximumMessageBytes);
      if (received.length < this.#frameLength) {
        this.#received.add(received);
        continue;
      }
      messages.push(received.subarray(headerBytes, this.#frameLength));
      if (received.length > this.#frameLength) this.#received.add(received.subarray(this.#frameLength));
      this.#frameLength = undefined;
    }
    return messages;
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
