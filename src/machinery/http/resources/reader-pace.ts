import type { Schedule } from "../../api/clock.ts";

/** A reader that lags this far behind gets no more for now. */
const maximumAheadBytes = 1024 * 1024;
/** Many readers that lag behind share this much; each gets at least the minimum. */
const sharedAheadBytes = 128 * 1024 * 1024;
const minimumAheadBytes = 64 * 1024;
/** The interval between two checks whether the client has read doubles from the first to the maximum. */
const firstPollMilliseconds = 1;
const maximumPollMilliseconds = 1000;

/** How many readers of this process lag behind. */
let waitingReaders = 0;

/** Lets the initial state of a watch be sent only as fast as its client reads, so that the rest of it is not in memory. */
export class ReaderPace {
  readonly #waitingBytes: () => number;
  readonly #schedule: Schedule;
  #cancelPoll: (() => void) | undefined;

  /** `waitingBytes`: the bytes that the client has not read yet. */
  constructor({ waitingBytes, schedule }: { waitingBytes(): number; readonly schedule: Schedule }) {
    this.#waitingBytes = waitingBytes;
    this.#schedule = schedule;
  }

  /**
   * Returns undefined when more may be sent now, otherwise a promise that resolves when the client has read, and never after `stop`. Call
   * it again only when it has resolved.
   */
  untilRead(): Promise<void> | undefined {
    const share = sharedAheadBytes / (waitingReaders + 1);
    const aheadBytes = Math.max(minimumAheadBytes, Math.min(maximumAheadBytes, share));
    if (this.#waitingBytes() <= aheadBytes) return undefined;
    waitingReaders += 1;
    return new Promise((resolve) => this.#pollIn(firstPollMilliseconds, { aheadBytes, resolve }));
  }

  stop(): void {
    if (this.#cancelPoll === undefined) return;
    this.#cancelPoll();
    this.#cancelPoll = undefined;
    waitingReaders -= 1;
  }

  #pollIn(milliseconds: number, reader: { readonly aheadBytes: number; readonly resolve: () => void }): void {
    this.#cancelPoll = this.#schedule(() => {
      if (this.#waitingBytes() > reader.aheadBytes) {
        return this.#pollIn(Math.min(2 * milliseconds, maximumPollMilliseconds), reader);
      }
      this.stop();
      reader.resolve();
    }, milliseconds);
  }
}
