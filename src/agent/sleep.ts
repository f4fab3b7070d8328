import { setTimeout as delay } from "node:timers/promises";

/** Resolves after some milliseconds, or at once when `signal` aborts; never rejects. */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

export const sleep: Sleep = async (milliseconds, signal) => {
  // Rejects on abort only.
  await delay(milliseconds, undefined, { signal }).catch(() => {});
};
