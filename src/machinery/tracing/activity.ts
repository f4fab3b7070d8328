import { AsyncLocalStorage } from "node:async_hooks";

/**
 * A piece of work that this process sends requests for: a request that it answers (`RequestTrace`), or a run of a loop. Only its
 * identity matters.
 */
export type Activity = object;

/** The innermost activity of the code that runs. Empty without a subscriber. */
export const currentActivity = new AsyncLocalStorage<Activity>();
