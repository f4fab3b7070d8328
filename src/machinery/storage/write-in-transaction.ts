import { TransactionRefused } from "../api/transaction.ts";
import type { TransactionMember } from "../api/transaction.ts";
import { asError } from "../api/thrown-error.ts";
import { TransactionsUnsupported, isExpected } from "./store.ts";
import type { Store, WriteRequest, WriteResult } from "./store.ts";

/**
 * Writes together with the other members of a transaction, or not at all. Resolves and rejects as `Store.write` does, or rejects
 * with TransactionRefused when another member's write was refused. For a store that supports only one key in a transaction, makes
 * the writes one after the other, until one fails.
 */
export async function writeInTransaction(
  member: TransactionMember,
  { store, request }: { readonly store: Store; readonly request: WriteRequest },
): Promise<WriteResult> {
  // Only this function joins, so every write is a WriteRequest; a process has one store.
  const outcome = await member.join(request, (requests) => writeAll(store, requests as readonly WriteRequest[]));
  if (outcome instanceof Error) throw outcome;
  return outcome;
}

type Outcome = WriteResult | Error;

async function writeAll(store: Store, requests: readonly WriteRequest[]): Promise<readonly Outcome[]> {
  try {
    const results = await store.writeTogether(requests);
    return results.map((result, index) => (isOwnOutcome(requests[index], result) ? result : new TransactionRefused()));
  } catch (error) {
    if (error instanceof TransactionsUnsupported) return writeInTurn(store, requests);
    throw error;
  }
}

/** Whether a result is about this write: it was written, or its key has another revision than it expects. */
const isOwnOutcome = (request: WriteRequest | undefined, result: WriteResult): boolean =>
  result.isWritten || request === undefined || !isExpected(request, result.current?.modRevision ?? 0);

async function writeInTurn(store: Store, requests: readonly WriteRequest[]): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  let hasFailed = false;
  for (const request of requests) {
    const outcome: Outcome = hasFailed ? new TransactionRefused() : await store.write(request).catch(asError);
    hasFailed ||= outcome instanceof Error || !outcome.isWritten;
    outcomes.push(outcome);
  }
  return outcomes;
}
