import { channel } from "node:diagnostics_channel";

/** One look of a loop at one key, as subscribers of `signet:loop` get it. */
export interface TracedReconcile {
  readonly controller: string;
  readonly key: string;
  /** What the loop did, or why it did nothing. */
  readonly outcome: string;
  readonly microseconds: number;
}

/** Has one TracedReconcile for each key that a loop looked at. */
export const loopChannel = channel("signet:loop");

/** A reconcile function that also tells subscribers its outcome. While nobody listens it does nothing else. */
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
    const publish = (outcome: string): void => {
      const microseconds = Math.round((performance.now() - startedAt) * 1000);
      const message: TracedReconcile = { controller, key, outcome, microseconds };
      loopChannel.publish(message);
    };
    try {
      publish(await reconcile(key));
    } catch (error) {
      publish(`failed, will retry: ${error instanceof Error ? error.message : String(error)}`);
      throw error;
    }
  };
}
