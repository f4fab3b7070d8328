/** How many ended streams are remembered. */
const rememberedStreams = 1000;
/** After its answer, a client has about this long to send the rest of its request. */
const endingSeconds = 2;

/** Streams that this side has ended before the client. Their later frames are no fault of the client (RFC 9113 section 5.1). */
export class EndedStreams {
  readonly #ids = new Set<number>();
  /** When each stream was answered, by its id, as long as the client may still send the rest of its request. */
  readonly #unfinished = new Map<number, number>();
  readonly #reset: (streamId: number) => void;

  /** `reset` is called for an answered stream whose client must stop sending. */
  constructor(reset: (streamId: number) => void) {
    this.#reset = reset;
  }

  has(streamId: number): boolean {
    return this.#ids.has(streamId);
  }

  add(streamId: number): void {
    this.#ids.add(streamId);
    if (this.#ids.size <= rememberedStreams) return;
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest);
      if (this.#unfinished.delete(oldest)) this.#reset(oldest);
      return;
    }
  }

  /** Adds a stream that is answered before its request was complete. */
  addAnswered(streamId: number, nowSeconds: number): void {
    this.#unfinished.set(streamId, nowSeconds);
    this.add(streamId);
  }

  /** Whether the stream is answered and the client may still send the rest of its request. */
  isUnfinished(streamId: number): boolean {
    return this.#unfinished.has(streamId);
  }

  /** Call it when the client has ended its side. Returns whether the stream is answered and waited for this. */
  finish(streamId: number): boolean {
    return this.#unfinished.delete(streamId);
  }

  /**
   * Resets answered streams whose clients continue to send (RFC 9113 section 8.1). Not at once: curl loses an answer when a reset follows
   * it.
   */
  sweep(nowSeconds: number): void {
    for (const [streamId, answeredAtSecond] of this.#unfinished) {
      if (nowSeconds - answeredAtSecond < endingSeconds) return;
      this.#unfinished.delete(streamId);
      this.#reset(streamId);
    }
  }
}
