import type { AdmissionRecorder } from "../api/attributes.ts";
import type { TransactionMember } from "../api/transaction.ts";
import type { UserInfo } from "../api/user-info.ts";

/** A caller that may have to wait for the cache. Its signal is created only when it is first read, so read it only when waiting. */
export interface Waiter {
  /** Aborted when the deadline passes or the client disconnects. A write that has not started by then is not executed. */
  readonly signal: AbortSignal;
  /** See `hasFreshCache` of HttpRequest. Only for a first attempt: after a conflict, the cache may lack the other writer's write. */
  readonly hasFreshCache?: boolean;
}

/** The caller of a write request, and the options of the write. Hooks and admission rules receive it with every write. */
export interface Caller extends AdmissionRecorder, Waiter {
  readonly user: UserInfo;
  readonly isDryRun: boolean;
  /** The transaction that the write is a part of. Undefined: the write is not in a transaction. */
  readonly transaction?: TransactionMember | undefined;
}

/** The same caller, with a dry run. */
export const dryRunning = (caller: Caller): Caller => ({
  user: caller.user,
  isDryRun: true,
  signal: caller.signal,
  transaction: caller.transaction,
  warn: (warning) => caller.warn(warning),
  annotate: (annotations) => caller.annotate?.(annotations),
});
