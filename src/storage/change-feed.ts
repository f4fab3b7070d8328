import type { Store } from "./store.ts";

export interface ChangeFeedOptions {
  readonly store: Store;
}

/** The process's one watch of the store: gives every change to the cache of its prefix. */
export class ChangeFeed {
  readonly store: Store;
  constructor({ store }: ChangeFeedOptions) {
    this.store = store;
  }
  /** Ends every cache's watches. */
  close(): void {}
}
