import { unreferencedSleep } from "../api/clock.ts";
import type { Sleep } from "../api/clock.ts";
import { OutageReport } from "../logging/outage-report.ts";
import { FeedFollower } from "./feed-follower.ts";
import type { FeedFollowerOptions, FeedMember } from "./feed-follower.ts";
import type { Store } from "./store.ts";

export interface ChangeFeedOptions {
  readonly store: Store;
  /**
   * How many writes of the log to read at start, roughly, so that watches can resume from before the start. Default 10,000.
   */
  readonly replayLength?: number;
  /** Reports when the store's changes do not arrive, and when they arrive again. */
  readonly outage?: OutageReport;
  readonly sleep?: Sleep;
  /**
   * Receives all changes after the load, also changes of keys that are below no member's prefix. Caches that do not start together have
   * several watches, each of which reports every change.
   */
  readonly onChanges?: FeedFollowerOptions["onChanges"];
}

const unreported = (): OutageReport => new OutageReport({ onFailure: () => {}, onRecovery: () => {} });

/**
 * Watches the store for all caches of a process. Passes every change to the cache of its prefix. Caches that start in the same
 * event loop turn share one watch and one read of the log, so start them together.
 */
export class ChangeFeed {
  readonly #options: Required<ChangeFeedOptions>;
  readonly #followers = new Set<FeedFollower>();
  #joining: FeedFollower | undefined;
  #isClosed = false;

  constructor({
    store,
    replayLength = 10_000,
    outage = unreported(),
    sleep = unreferencedSleep,
    onChanges = () => {},
  }: ChangeFeedOptions) {
    this.#options = { store, replayLength, outage, sleep, onChanges };
  }

  /**
   * Adds a member. The returned follower's `started` resolves when the member has received everything written before.
   */
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

  /** Ends the watches of every cache. The store stays open. */
  close(): void {
    this.#isClosed = true;
    for (const follower of this.#followers) follower.stop();
    this.#followers.clear();
  }
}
