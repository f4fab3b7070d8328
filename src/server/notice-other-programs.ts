import { periodically } from "../machinery/api/periodically.ts";
import type { Store } from "../machinery/storage/store.ts";

/** How long a server without requests takes to see what a command has written to its store. */
const lookMilliseconds = 1_000;

/**
 * Looks for what other programs wrote to the store of the data directory: commands such as `signet keys rotate`, which
 * can't tell the server. etcd tells by itself.
 */
export const noticeOtherPrograms = (store: Store): { stop(): void } =>
  periodically({
    milliseconds: lookMilliseconds,
    task: () => store.notify(),
    // The store is closing, or fails: requests say so.
    onFailure: () => {},
  });
