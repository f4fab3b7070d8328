import type { Schedule } from "../../api/clock.ts";

/** A reader that lags this far behind gets no more for now. */
const maximumAheadBytes = 1024 * 1024;
/** Of many readers that lag behind, each new one gets a share of this, but no less than the minimum. */
const sharedAheadBytes = 128 * 1024 * 1024;
const minimumAheadBytes = 64 * 1024;
/** When to look again whether it has read: at first soon, later this often. */
const firstLookMilliseconds = 1;
const maximumLookMilliseconds = 1000;

/** How many readers of this process lag behind. */
let waitingReaders = 0;

/** Lets the initial state of a watch come as fast as its client reads, so that the rest of it is not in memory. */
export class ReaderPace {
  readonly #waitingBytes: () => number;
  readonly #schedule: Schedule;
  #cancelLook: (() => void) | undefined;

  /** `waitingBytes`: what the client has not taken yet. */
  constructor({ waitingBytes, schedule }: { waitingBytes(): number; readonly schedule: Schedule }) {
    this.#waitingBytes = waitingBytes;
    this.#schedule = schedule;
  }

  /** Undefined: go on. Otherwise resolves when the client has read, and never after `stop`. Call it again only then. */
  untilRead(): Promise<void> | undefined {
    const share = sharedAheadBytes / (waitingReaders + 1);
    const aheadBytes = Math.max(minimumAheadBytes, Math.min(maximumAheadBytes, share));
    if (this.#waitingBytes() <= aheadBytes) return undefined;
    waitingReaders += 1;
    return new Promise((resolve) => this.#lookIn(firstLookMilliseconds, { aheadBytes, resolve }));
  }

  stop(): void {
    if (this.#cancelLook === undefined) return;
    this.#cancelLook();
    this.#cancelLook = undefined;
    waitingReaders -= 1;
  }

  #lookIn(milliseconds: number, reader: { readonly aheadBytes: number; readonly resolve: () => void }): void {
    this.#cancelLook = this.#schedule(() => {
      if (this.#waitingBytes() > reader.aheadBytes) {
        return this.#lookIn(Math.min(2 * milliseconds, maximumLookMilliseconds), reader);
      }
      this.stop();
      reader.resolve();
    }, milliseconds);
  }
}
