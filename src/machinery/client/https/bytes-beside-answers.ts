/** How often to call `areTooMany`. Rare, because a timer wakes an idle process. */
export const checkMilliseconds = 10_000;

const burstBytes = 8 * 1024 * 1024;
/** The window updates, pings and settings of a server that works well are far below it. */
const bytesPerCheck = 640 * 1024;

interface Received {
  /** All bytes since the connection began. */
  readonly bytes: number;
  /** The most bytes of answers that may wait to be read. They are not allowed before they are read. */
  readonly unreadBytes: number;
}

/**
 * What a server sends on a connection of HTTP/2 beside its answers, such as window updates, padding, and data of requests that have ended.
 * It brings nothing and makes work, and Node.js limits only some of it.
 */
export class BytesBesideAnswers {
  #receivedBytes = 0;
  #allowedBytes = 0;
  #surplusBytes = 0;

  /** Allows the bytes of an answer. */
  allow(bytes: number): void {
    this.#allowedBytes += bytes;
  }

  /** Call it every `checkMilliseconds`. Returns whether the server has sent too much. */
  areTooMany({ bytes, unreadBytes }: Received): boolean {
    const besideAnswers = bytes - this.#receivedBytes - this.#allowedBytes;
    this.#receivedBytes = bytes;
    this.#allowedBytes = 0;
    this.#surplusBytes = Math.max(0, this.#surplusBytes + besideAnswers - bytesPerCheck);
    return this.#surplusBytes > burstBytes + unreadBytes;
  }
}
