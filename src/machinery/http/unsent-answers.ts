interface Answer {
  /** Ends it immediately, half sent as it may be. */
  destroy(): void;
}

/**
 * Smaller ones are bounded well enough by the number of streams and connections. Not larger: a refusal that repeats a long path costs its
 * sender a few bytes (HPACK), and any number of connections may wait for one.
 */
const smallestCounted = 2 * 1024;

/**
 * The answers that are in memory because their clients have not taken all of them yet. Beyond a limit the oldest ones end:
 * their clients have had the most time to read.
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

  /** The answer is sent, or has ended otherwise. */
  remove(answer: Answer): void {
    this.#bytes -= this.#answers.get(answer) ?? 0;
    this.#answers.delete(answer);
  }
}
