import { tooManyRequests } from "../api/api-error.ts";
import { FairShare } from "../scheduling/fair-share.ts";
import type { SharePath } from "../scheduling/share-path.ts";

/** The share of the open watches that one user may have. Watches stay, so most of them are for others. */
const sharePerUser = 0.25;

/** Watches end after minutes: clients that ask again at once would only make work. */
const retryAfterSeconds = 10;

/**
 * Limits the number of open watches, each of which takes memory (about 12 KiB) for as long as it is open. One user may have a quarter
 * of those that the others leave.
 */
export class WatchBound {
  readonly #share: FairShare;
  #refused = 0;

  constructor(maximumWatches: number) {
    this.#share = new FairShare({ places: maximumWatches, sharePerUser });
  }

  /** How many watches were refused so far. */
  get refused(): number {
    return this.#refused;
  }

  /** Throws a 429 when the user may open no more. */
  enter(path: SharePath): undefined {
    if (!this.#share.mayTake(path)) {
      this.#refused++;
      throw tooManyRequests("too many watches are open: close some, and try again later", retryAfterSeconds);
    }
    this.#share.take(path);
  }

  /** Call it once for each watch that entered, when it has ended. */
  leave(path: SharePath): void {
    this.#share.release(path);
  }
}
