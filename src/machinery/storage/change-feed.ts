import { FeedFollower } from "./feed-follower.ts";
import type { FeedMember } from "./feed-follower.ts";
import type { Store } from "./store.ts";

export interface ChangeFeedOptions {
  readonly store: Store;
  /** How many revisions of the log are read at start, so that watches can resume from before it. Default 10,000. */
  readonly replayLength?: number;
}

/**
 * The process's watch of the store: gives every change to the cache of its prefix. Caches that start in the same event
 * turn share one watch and one reading of the log; start them together.
 */
export class ChangeFeed {
  readonly #options: Required<ChangeFeedOptions>;
  readonly #followers = new Set<FeedFollower>();
  #joining: FeedFollower | undefined;
  #isClosed = false;

  constructor({ store, replayLength = 10_000 }: ChangeFeedOptions) {
    this.#options = { store, replayLength };
  }

  /** Resolves, on the returned follower's `started`, when the member has been given all that was written before. */
  join(member: FeedMember): FeedFollower {
    if (this.#isClosed) throw new Error("the change feed is closed");
    if (this.#joining === undefined) {
      this.#joining = new FeedFollower(this.#options);
      this.#followers.add(this.#joining);
      queueMicrotask(() => (this.#joining = undefined));
    }
    this.#joining.add(member);
    return this.#joining;
  }

  /** Ends every cache's watches. The store stays open. */
  close(): void {
    this.#isClosed = true;
    for (const follower of this.#followers) follower.stop();
    this.#followers.clear();
  }
}
