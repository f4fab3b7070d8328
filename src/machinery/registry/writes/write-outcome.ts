import type { ApiObject } from "../../api/object-meta.ts";
import type { WriteResult } from "../../storage/store.ts";
import type { ResourceRegistry } from "../resource-registry.ts";
import type { StoredObject } from "../stored/stored-object.ts";

/**
 * How often a change is retried because other writers change the same object. More than the number of requests that run
 * at once.
 */
export const maximumWriteAttempts = 256;

/** The outcome of writing a new version of an object. */
export type WriteOutcome<T extends ApiObject> =
  | { readonly isWritten: true; readonly object: StoredObject<T> }
  | LostWrite<T>;

/** Another writer changed the object in between. */
export interface LostWrite<T extends ApiObject> {
  readonly isWritten: false;
  /** The object after that writer's change. Undefined: it was deleted. */
  readonly current: StoredObject<T> | undefined;
}

interface AnsweredWrite {
  readonly key: string;
  readonly value: Buffer;
  readonly result: WriteResult;
}

/** Converts the store's answer to a write to an outcome. */
export const writeOutcome = <T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { key, value, result }: AnsweredWrite,
): WriteOutcome<T> =>
  result.isWritten
    ? { isWritten: true, object: registry.written({ key, value, modRevision: result.revision }) }
    : lostWrite(registry, result);

/** The outcome of a write that another writer has preceded. */
export const lostWrite = <T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { current }: Extract<WriteResult, { readonly isWritten: false }>,
): LostWrite<T> => ({ isWritten: false, current: current && registry.fromEntry(current) });
