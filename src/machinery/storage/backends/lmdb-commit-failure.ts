import { setTimeout as delay } from "node:timers/promises";
import { StoreUnavailable } from "../store.ts";

const CAUSE_WAIT_MILLISECONDS = 100;

/** What lmdb rejected a commit with, in words for clients; nothing of the transaction was written. */
export async function commitFailure(rejection: unknown): Promise<StoreUnavailable> {
  let cause = rejection;
  if (rejection instanceof Error && "commitError" in rejection) {
    try {
      // Rejects with the system's error, soon after; lmdb does not promise that it always does.
      await Promise.race([rejection.commitError, delay(CAUSE_WAIT_MILLISECONDS)]);
    } catch (commitError) {
      cause = commitError;
    }
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StoreUnavailable(`the store can't be written: ${reason}`, { cause });
}
