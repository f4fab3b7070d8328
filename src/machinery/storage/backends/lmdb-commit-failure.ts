import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../api/message-of.ts";
import { StoreUnavailable } from "../store.ts";

const CAUSE_WAIT_MILLISECONDS = 100;

/** Converts lmdb's rejection of a commit to an error for clients. Nothing of the transaction was written. */
export async function commitFailure(rejection: unknown): Promise<StoreUnavailable> {
  let cause = rejection;
  if (rejection instanceof Error && "commitError" in rejection) {
    try {
      // Usually rejects soon with the system's error, but lmdb does not guarantee it.
      await Promise.race([rejection.commitError, delay(CAUSE_WAIT_MILLISECONDS)]);
    } catch (commitError) {
      cause = commitError;
    }
  }
  return new StoreUnavailable(`the store can't be written: ${messageOf(cause)}`, { cause });
}
