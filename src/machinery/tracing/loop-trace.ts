import { channel } from "node:diagnostics_channel";
import { messageOf } from "../api/thrown-error.ts";
import { currentActivity } from "./activity.ts";
import type { Activity } from "./activity.ts";

/** One reconciliation of a key by a control loop, as subscribers of `signet:loop` get it. */
export interface TracedReconcile {
  readonly controller: string;
  readonly key: string;
  /** A text for people: what the loop did, why it did nothing, or that it failed. */
  readonly outcome: string;
  /** The error that the run threw; the key will be tried again. Absent: the run did not fail. */
  readonly error?: unknown;
  readonly microseconds: number;
  /** This run. The client requests that it sent have the same activity. */
  readonly activity: Activity;
}

/** Publishes one TracedReconcile for each reconciled key. */
export const loopChannel = channel("signet:loop");

/** Wraps a reconcile function to publish its outcome. Without a subscriber there is no extra work. */
export function traced(
  controller: string,
  reconcile: (key: string) => Promise<string>,
): (key: string) => Promise<void> {
  return async (key) => {
    if (!loopChannel.hasSubscribers) {
      await reconcile(key);
      return;
    }
    const startedAt = performance.now();
    const activity: Activity = {};
    const publish = (result: Pick<TracedReconcile, "outcome" | "error">): void => {
      const microseconds = Math.round((performance.now() - startedAt) * 1000);
      const message: TracedReconcile = { controller, key, ...result, microseconds, activity };
      loopChannel.publish(message);
    };
    try {
      publish({ outcome: await currentActivity.run(activity, () => reconcile(key)) });
    } catch (error) {
      publish({ outcome: `failed, will retry: ${messageOf(error)}`, error });
      throw error;
    }
  };
}
