import { AsyncLocalStorage } from "node:async_hooks";

/**
 * A piece of work for which this process sends requests: a request that it answers (`RequestTrace`), or a run of a control loop. Only the
 * identity of the object matters.
 */
export type Activity = object;

/** The innermost activity of the running code. Empty without a subscriber. */
export const currentActivity = new AsyncLocalStorage<Activity>();
