import { defaultWindowBytes } from "./protocol.ts";

/** The client is told that it may send more when it has used half of its window. */
const stepBytes = defaultWindowBytes >> 1;

/** How much a client may send before it is read (RFC 9113 section 5.2). */
export class ReceiveWindow {
  #bytes = defaultWindowBytes;
  #takenBytes = 0;

  /** Returns false when the client may not send that much. */
  receive(bytes: number): boolean {
    if (bytes > this.#bytes) return false;
    this.#bytes -= bytes;
    return true;
  }

  /** Received bytes were read. Returns by how much to widen the client's window now, mostly 0. */
  take(bytes: number): number {
    this.#takenBytes += bytes;
    if (this.#takenBytes < stepBytes) return 0;
    const widenedBy = this.#takenBytes;
    this.#bytes += widenedBy;
    this.#takenBytes = 0;
    return widenedBy;
  }
}
