import { conflict, requestCanceled, serviceUnavailable, timeout, tooLarge } from "../../api/api-error.ts";
import type { GroupResource } from "../../api/resource-type.ts";
import { TransactionRefused } from "../../api/transaction.ts";
import {
  StoreDamaged,
  StoreUnavailable,
  ValueTooLarge,
  WriteAbandoned,
  WriteOutcomeUnknown,
} from "../../storage/store.ts";

/** Converts the error of a failed read for clients: to a 503 when the store does not answer. Other errors stay as they are. */
export const readFailure = (error: unknown): unknown =>
  error instanceof StoreUnavailable ? serviceUnavailable(`the store can't be read now: ${error.message}`) : error;

/** Whether the store did not answer, or is damaged. Any other error that is not for clients is a bug. */
export const isStoreFailure = (error: unknown): boolean => error instanceof StoreUnavailable;

/** Says why the store refused a write, for clients and for the log. For a damaged object, does not say that the store takes no writes. */
export const refusedWriteText = (error: StoreUnavailable): string =>
  error instanceof StoreDamaged ? error.message : `the store takes no writes now: ${error.message}`;

/** Converts the store's error for a failed write for clients. Other errors stay as they are. */
export function writeFailure(
  error: unknown,
  { resource, key }: { readonly resource: GroupResource; readonly key: string },
): unknown {
  // Checked before StoreUnavailable, its superclass.
  if (error instanceof WriteOutcomeUnknown)
    return timeout(`${error.message}; it may have been written: read the object`);
  if (error instanceof StoreUnavailable) return serviceUnavailable(refusedWriteText(error));
  if (error instanceof WriteAbandoned) return requestCanceled();
  if (error instanceof ValueTooLarge) return tooLarge(`the store can't hold the object: ${error.message}`);
  if (error instanceof TransactionRefused) {
    return conflict(resource, { name: key.slice(key.lastIndexOf("/") + 1), message: error.message });
  }
  return error;
}
