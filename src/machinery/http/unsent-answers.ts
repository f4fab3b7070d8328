interface Answer {
  /** Ends it immediately, half sent as it may be. */
  destroy(): void;
}

/** An answer that is written over time. */
interface Stream extends Answer {
  readonly isStream: boolean;
  /** How many bytes the client has not taken yet. */
  bufferedBytes(): number;
  /** The last second in which the client read, or had read everything. */
  readAtSecond(nowSecond: number): number;
}

/** A stream whose client reads is never ended: so long its client may take to read. */
const patienceSeconds = 2;

/**
 * Smaller ones are bounded well enough by the number of streams and connections. Not larger: a refusal that repeats a long path costs its
 * sender a few bytes (HPACK), and any number of connections may wait for one.
 */
const smallestCounted = 2 * 1024;

/**
 * The answers that are in memory because their clients have not taken all of them yet, and what waits of streams. Beyond a limit the
 * oldest answers end, whose clients have had the most time to read, and streams that were not read for the longest time.
 */
export class UnsentAnswers {
  readonly #maximumBytes: number;
  readonly #onEnded: () => void;
  /** In the order in which they were made, with their lengths. */
  readonly #answers = new Map<Answer, number>();
  #bytes = 0;

  constructor({ maximumBytes, onEnded }: { readonly maximumBytes: number; readonly onEnded: () => void }) {
    this.#maximumBytes = maximumBytes;
    this.#onEnded = onEnded;
  }

  /** Call it before an answer is sent. The newest answer stays, however long it is. Whether `remove` must be called for it. */
  add(answer: Answer, bytes: number): boolean {
    if (bytes < smallestCounted) return false;
    this.#answers.set(answer, bytes);
    this.#bytes += bytes;
    for (const [oldest] of this.#answers) {
      if (this.#bytes <= this.#maximumBytes || oldest === answer) break;
      this.remove(oldest);
      oldest.destroy();
      this.#onEnded();
    }
    return true;
  }

  /**
   * Ends streams that their clients do not read while they and the answers are too large together: first those that were not read for
   * the longest time. To its client each looks like a lost connection, after which a watch resumes. Call it every second.
   */
  endUnread(exchanges: Iterable<Stream>, nowSecond: number): void {
    const unread: { readonly stream: Stream; readonly readAtSecond: number; readonly bytes: number }[] = [];
    let bytes = this.#bytes;
    for (const stream of exchanges) {
      if (!stream.isStream) continue;
      const readAtSecond = stream.readAtSecond(nowSecond);
      const waitingBytes = stream.bufferedBytes();
      bytes += waitingBytes;
      if (waitingBytes > 0 && nowSecond - readAtSecond >= patienceSeconds)
        unread.push({ stream, readAtSecond, bytes: waitingBytes });
    }
    if (bytes <= this.#maximumBytes) return;
    unread.sort((left, right) => left.readAtSecond - right.readAtSecond);
    for (const { stream, bytes: freedBytes } of unread) {
      if (bytes <= this.#maximumBytes) return;
      bytes -= freedBytes;
      stream.destroy();
      this.#onEnded();
    }
  }

  /** The answer is sent, or has ended otherwise. */
  remove(answer: Answer): void {
    this.#bytes -= this.#answers.get(answer) ?? 0;
    this.#answers.delete(answer);
  }
}
