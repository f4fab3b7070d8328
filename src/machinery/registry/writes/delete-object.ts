import { isDeepStrictEqual } from "node:util";
import { conflict } from "../../api/api-error.ts";
import { foregroundFinalizer, orphanFinalizer } from "../../api/deletion-finalizers.ts";
import type { ApiObject, ObjectMeta } from "../../api/object-meta.ts";
import { admit, validateAdmission } from "../admission.ts";
import type { Admitted } from "../admission.ts";
import type { Caller } from "../caller.ts";
import type { DeleteOptions } from "./delete-options.ts";
import { isGracePending, withGracePeriod } from "./grace-period.ts";
import { hookContext } from "./hook-context.ts";
import type { ResourceDefinition } from "../definition/resource-definition.ts";
import type { ResourceRegistry } from "../resource-registry.ts";
import { storageKey } from "../stored/storage-key.ts";
import type { ObjectName } from "../stored/storage-key.ts";
import { encodeStored } from "../stored/stored-object.ts";
import type { StoredObject } from "../stored/stored-object.ts";
import { lostWrite, maximumWriteAttempts, writeOutcome } from "./write-outcome.ts";
import type { LostWrite, WriteOutcome } from "./write-outcome.ts";

interface DeleteRequest<T extends ApiObject> extends ObjectName {
  readonly options: DeleteOptions;
  readonly caller: Caller;
  /** Changes the object before its deletion, in a separate write. The result must be the same when it is called again. */
  mark?(object: T): T;
  /** Called when the object may be deleted, before anything is written. An error that it throws ends the deletion. */
  beforeWrite?(): Promise<void>;
}

interface Deletion<T extends ApiObject> {
  /**
   * The last state of a removed object at the revision of the deletion, or the object that waits for its finalizers.
   */
  readonly object: StoredObject<T>;
  readonly isRemoved: boolean;
}

/**
 * Removes an object, or marks it as being deleted while finalizers, its grace period or its kind keep it. Throws 404, 409 and
 * the errors of admission.
 */
export async function deleteObject<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  request: DeleteRequest<T>,
): Promise<Deletion<T>> {
  const { namespace, name, options, caller } = request;
  const key = storageKey(registry.definition, request);
  if (key === undefined) throw registry.notFound(name);
  await registry.waitForFreshCache(caller);
  let previous = registry.cache.get(key);
  let isMarked = false;
  for (let attempt = 1; attempt <= maximumWriteAttempts; attempt += 1) {
    if (previous === undefined) throw registry.notFound(name);
    checkPreconditions(registry, { options, previous });
    const { object: oldObject } = previous;
    const subject = { operation: "DELETE", caller, subresource: "", namespace, name, oldObject } as const;
    // At each attempt, because the name may belong to a new object now.
    await admit(registry, subject);
    const admitted = await validateAdmission(registry, subject);
    await request.beforeWrite?.();
    if (request.mark !== undefined && !caller.isDryRun) {
      const marking: WriteOutcome<T> = await writeMark(registry, {
        previous,
        next: request.mark(previous.object),
        admitted,
      });
      if (!marking.isWritten) {
        previous = marking.current;
        continue;
      }
      previous = marking.object;
    }
    const { object: next, isKept } = deletedState(registry, { previous: previous.object, request });
    if (isKept || registry.definition.gracePeriodSeconds !== undefined) {
      const marking: WriteOutcome<T> = await writeMark(registry, { previous, next, admitted });
      if (!marking.isWritten) {
        previous = marking.current;
        continue;
      }
      isMarked ||= marking.object !== previous;
      previous = marking.object;
      if (isKept) return { object: previous, isRemoved: false };
    }
    const removal: Removal<T> = await removeObject(registry, { previous, admitted });
    if (removal.isWritten) {
      const object = caller.isDryRun ? previous : previous.at(removal.revision);
      return { object, isRemoved: true };
    }
    // A node agent may remove the object as soon as it sees the mark: that is no failure (upstream: `ignoreNotFound`).
    if (removal.current === undefined && isMarked) return { object: previous, isRemoved: true };
    previous = removal.current;
  }
  throw registry.contended(name);
}

interface Mark<T extends ApiObject> {
  readonly previous: StoredObject<T>;
  readonly next: T;
  readonly admitted: Admitted;
}

/**
 * Writes what a deletion changes in an object before, or instead of, its removal. A dry run writes nothing, and has the same result. The
 * size is not checked, because the change adds only a few bytes, and an object of the maximum size must be deletable too.
 */
async function writeMark<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { previous, next, admitted }: Mark<T>,
): Promise<WriteOutcome<T>> {
  if (isDeepStrictEqual(next, previous.object)) return { isWritten: true, object: previous };
  const { key, revision: expectedRevision } = previous;
  const value = encodeStored(next);
  if (admitted.isDryRun) {
    return { isWritten: true, object: registry.fromEntry({ key, value, modRevision: expectedRevision }) };
  }
  const result = await registry.write(admitted, { key, value, expectedRevision });
  return writeOutcome(registry, { key, value, result });
}

type Removal<T extends ApiObject> = { readonly isWritten: true; readonly revision: number } | LostWrite<T>;

/** Removes one version of an object from the store. A dry run removes nothing, and has the same result. */
export async function removeObject<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { previous, admitted }: { readonly previous: StoredObject<T>; readonly admitted: Admitted },
): Promise<Removal<T>> {
  if (admitted.isDryRun) return { isWritten: true, revision: previous.revision };
  const { key, revision } = previous;
  const result = await registry.write(admitted, { key, value: undefined, expectedRevision: revision });
  return result.isWritten ? result : lostWrite(registry, result);
}

/**
 * Decides what happens to an object that is being deleted, after an update: it is removed when nothing keeps it any longer, or its
 * kind keeps another object instead. Undefined: finalizers or its grace period keep it (upstream: `ShouldDeleteDuringUpdate`).
 */
export function finishedDeletion<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { next, previous, caller }: { readonly next: T; readonly previous: T; readonly caller: Caller },
): T | "remove" | undefined {
  if (previous.metadata.deletionTimestamp === undefined || hasFinalizers(next)) return undefined;
  if (isGracePending(previous.metadata, {})) return undefined;
  const context = hookContext(registry, { caller, namespace: previous.metadata.namespace ?? "" });
  return registry.definition.prepareForDelete?.(next, context) ?? "remove";
}

const hasFinalizers = ({ metadata }: ApiObject): boolean => (metadata.finalizers ?? []).length > 0;

function checkPreconditions<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { options, previous }: { readonly options: DeleteOptions; readonly previous: StoredObject<T> },
): void {
  const { name = "", uid = "" } = previous.object.metadata;
  const isUidWrong = options.uid !== undefined && options.uid !== uid;
  if (!isUidWrong && (options.resourceVersion ?? previous.resourceVersion) === previous.resourceVersion) return;
  const [field, wanted, current] = isUidWrong
    ? ["UID", options.uid, uid]
    : ["ResourceVersion", options.resourceVersion, previous.resourceVersion];
  if (registry.definition.failedPreconditionNames === "resource") {
    throw conflict(registry.resource, {
      name,
      message: `Precondition failed: ${field} in precondition: ${wanted}, ${field} in object meta: ${current}`,
    });
  }
  const what = isUidWrong ? "deleted and then recreated" : "modified";
  throw conflict(registry.kind, {
    name,
    message: `the ${field} in the precondition (${wanted}) does not match the ${field} in record (${current}). The object might have been ${what}`,
  });
}

interface DeletedState<T extends ApiObject> {
  /** The object after a deletion. */
  readonly object: T;
  /** Whether the object's finalizers, grace period or kind keep it. */
  readonly isKept: boolean;
}

function deletedState<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { previous, request }: { readonly previous: T; readonly request: DeleteRequest<T> },
): DeletedState<T> {
  const { definition } = registry;
  const { options } = request;
  if (isGracePending(previous.metadata, options)) return { object: previous, isKept: true };
  const context = hookContext(registry, request);
  const { now } = context;
  const marked = { ...previous, metadata: markedMetadata(definition, { object: previous, options }) };
  if (definition.gracePeriodSeconds !== undefined) {
    const { gracePeriodSeconds: requested } = options;
    // The period of a deletion that has begun is shortened to the client's, without asking the kind again.
    const hasBegun = previous.metadata.deletionTimestamp !== undefined;
    const seconds = hasBegun ? (requested ?? 0) : definition.gracePeriodSeconds(previous, requested);
    const object = { ...marked, metadata: withGracePeriod(marked.metadata, { seconds, now }) };
    return { object, isKept: hasFinalizers(object) || isGracePending(object.metadata, {}) };
  }
  const kept = definition.prepareForDelete?.(marked, context);
  if (kept === undefined && !hasFinalizers(marked)) return { object: marked, isKept: false };
  const result = kept ?? marked;
  return { object: { ...result, metadata: withGracePeriod(result.metadata, { seconds: 0, now }) }, isKept: true };
}

function markedMetadata<T extends ApiObject>(
  definition: ResourceDefinition<T>,
  { object, options }: { readonly object: T; readonly options: DeleteOptions },
): ObjectMeta {
  const propagation = definition.propagationOf?.(object) ?? "followed";
  if (propagation === "ignored") return object.metadata;
  if (propagation === "unsupported") return withFinalizers(object.metadata, "Background");
  const isWithoutOrphans = options.orphanDependents === false;
  return withFinalizers(
    object.metadata,
    (isWithoutOrphans ? definition.policyWithoutOrphans : undefined) ?? options.propagationPolicy,
  );
}

/**
 * Adds or removes the garbage collector's finalizers, as the policy says. Without a policy, they stay unchanged.
 */
function withFinalizers(metadata: ObjectMeta, propagationPolicy: DeleteOptions["propagationPolicy"]): ObjectMeta {
  if (propagationPolicy === undefined) return metadata;
  const wanted = { Orphan: orphanFinalizer, Foreground: foregroundFinalizer, Background: undefined }[propagationPolicy];
  const kept = (metadata.finalizers ?? []).filter(
    (finalizer) => finalizer === wanted || (finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer),
  );
  const finalizers = wanted === undefined || kept.includes(wanted) ? kept : [...kept, wanted];
  const { finalizers: _finalizers, ...rest } = metadata;
  return finalizers.length === 0 ? rest : { ...rest, finalizers };
}
