import { defaultWindowBytes } from "./protocol.ts";

/** A window update is sent when so many bytes, half of the window, were read. */
const stepBytes = defaultWindowBytes >> 1;

/** The flow-control window for received bytes: how much a client may send before its bytes are read (RFC 9113 section 5.2). */
export class ReceiveWindow {
  #bytes = defaultWindowBytes;
  #consumedBytes = 0;

  /** Counts received bytes. Returns false, and does not count them, when they exceed the window. */
  receive(bytes: number): boolean {
    if (bytes > this.#bytes) return false;
    this.#bytes -= bytes;
    return true;
  }

  /** Call it when received bytes were read. Returns by how much to widen the client's window now, mostly 0. */
  consume(bytes: number): number {
    this.#consumedBytes += bytes;
    if (this.#consumedBytes < stepBytes) return 0;
    const widenedBy = this.#consumedBytes;
    this.#bytes += widenedBy;
    this.#consumedBytes = 0;
    return widenedBy;
  }
}
