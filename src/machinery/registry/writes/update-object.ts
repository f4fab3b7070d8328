import { ApiError, conflict, invalid } from "../../api/api-error.ts";
import { firstFaults, invalidValue } from "../../api/validation/field-error.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import type { ApiObject, ObjectMeta } from "../../api/object-meta.ts";
import { validateObjectMetaUpdate } from "../../api/validation/object-meta-validation.ts";
import { inTurns, pauseInTurn } from "../../scheduling/request-turn.ts";
import { currentTrace } from "../../tracing/request-trace.ts";
import { admit, validateAdmission } from "../admission.ts";
import type { Admitted } from "../admission.ts";
import type { Caller } from "../caller.ts";
import { trackUpdate } from "../apply/track-update.ts";
import { newInexactIntegers, withInexactIntegers } from "./inexact-integers.ts";
import { createTracked } from "./create-object.ts";
import { finishedDeletion, removeObject } from "./delete-object.ts";
import { hookContext } from "./hook-context.ts";
import { checkName, inRequestNamespace, invalidNameParameter } from "./requested-name.ts";
import { withoutRepeatedOwners } from "./owner-references.ts";
import { isSameJson } from "../patch/json-value.ts";
import { withMetadataFaults } from "../definition/kind-faults.ts";
import type { ResourceDefinition, UpdateSubresource } from "../definition/resource-definition.ts";
import type { ResourceRegistry } from "../resource-registry.ts";
import { parseResourceVersion } from "../resource-version.ts";
import { encodeStored } from "../stored/stored-object.ts";
import type { StoredObject } from "../stored/stored-object.ts";
import { storageKey } from "../stored/storage-key.ts";
import { fieldWrite } from "./field-write.ts";
import { maximumWriteAttempts, writeOutcome } from "./write-outcome.ts";
import type { WriteOutcome } from "./write-outcome.ts";

export interface ObjectChange<T extends ApiObject> {
  readonly namespace: string;
  readonly name: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly caller: Caller;
  /**
   * Returns the wanted object with its managedFields, decoded and defaulted. `previous` is undefined when the object
   * would be created. Called again when another writer changed the object first.
   */
  wanted(previous: T | undefined): MaybePromise<T>;
  /** When present, a missing object is created. Throws when the caller may not create it. */
  readonly authorizeCreate?: () => Promise<void>;
}

export interface UpdateRequest<T extends ApiObject> extends Omit<ObjectChange<T>, "wanted" | "authorizeCreate"> {
  /** The complete new object, decoded and defaulted. */
  readonly object: T;
  readonly manager: string;
  /** Called before an update creates an object. Rejects when the caller may not create it. */
  readonly authorizeCreate: () => Promise<void>;
}

export interface Changed<T extends ApiObject> {
  readonly object: StoredObject<T>;
  readonly isCreated: boolean;
}

/** Replaces an object (PUT). Throws 400, 404, 409, 422 and the errors of admission. */
export async function updateObject<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { object, manager, authorizeCreate, ...request }: UpdateRequest<T>,
): Promise<Changed<T>> {
  const { definition } = registry;
  const sent = withoutRepeatedOwners(object, { when: "as sent", caller: request.caller });
  const placed = inRequestNamespace(sent, { scope: definition.scope, namespace: request.namespace });
  checkName(placed, request.name);
  const wantedUid = placed.metadata.uid ?? "";
  return changeObject(registry, {
    ...request,
    wanted(previous) {
      const currentUid = previous?.metadata.uid ?? "";
      if (wantedUid !== "" && wantedUid !== currentUid) {
        throw conflict(registry.resource, {
          name: request.name,
          message: `Precondition failed: UID in precondition: ${wantedUid}, UID in object meta: ${currentUid}`,
        });
      }
      const write = fieldWrite(registry, { manager, subresource: request.subresource });
      return inTurns(trackUpdate({ ...write, previous, next: placed })) as MaybePromise<T>; // changes only managedFields
    },
    ...(definition.allowsCreateOnUpdate === true && request.subresource === "" && { authorizeCreate }),
  });
}

/**
 * Reads, changes and writes an object, and retries on conflict with other writers (upstream: `Store.Update`), a bounded
 * number of times. A change that names a resourceVersion fails with 409 instead of being retried.
 */
export async function changeObject<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  change: ObjectChange<T>,
): Promise<Changed<T>> {
  const key = storageKey(registry.definition, change);
  if (key === undefined) {
    throw change.authorizeCreate === undefined ? registry.notFound(change.name) : registry.nameTooLong(change);
  }
  await registry.waitForFreshCache(change.caller);
  let previous = registry.cache.get(key);
  for (let attempt = 1; attempt <= maximumWriteAttempts; attempt += 1) {
    if (previous === undefined) {
      if (change.authorizeCreate === undefined) throw registry.notFound(change.name);
      const invalidName = invalidNameParameter(change.name);
      if (invalidName !== undefined) throw invalidName;
      const wanted = await change.wanted(undefined);
      await change.authorizeCreate();
      const { namespace, caller } = change;
      const creation = { object: wanted, namespace, caller, isThroughUpdate: true };
      const created = await createTracked(registry, creation).catch(ifAlreadyExists);
      if (!(created instanceof ApiError)) return { object: created, isCreated: true };
      // Another writer has created the object first: it is changed instead. The cache may lack it, whatever the caller knows of the cache.
      await registry.waitForFreshCache({ signal: caller.signal });
      previous = registry.cache.get(key);
      if (previous === undefined) throw created;
      continue;
    }
    const version = await nextVersion(registry, { change, previous });
    const written = await writeVersion(registry, { change, previous, ...version });
    if (written.isWritten) return { object: written.object, isCreated: false };
    previous = written.current;
  }
  throw registry.contended(change.name);
}

/** Returns the error that says that an object exists. Throws any other error. */
function ifAlreadyExists(error: unknown): ApiError {
  if (error instanceof ApiError && error.reason === "AlreadyExists") return error;
  throw error;
}

interface Step<T extends ApiObject> {
  readonly change: ObjectChange<T>;
  readonly previous: StoredObject<T>;
}

interface NextVersion<T extends ApiObject> {
  readonly next: T;
  readonly admitted: Admitted;
}

/** All steps from the wanted object to the object to store, including admission and validation. */
async function nextVersion<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { change, previous }: Step<T>,
): Promise<NextVersion<T>> {
  const { definition } = registry;
  const { caller, namespace, name, subresource } = change;
  const oldObject = previous.object;
  const subject = { operation: "UPDATE", caller, subresource, namespace, name, oldObject } as const;
  const afterDecoding = pauseInTurn();
  if (afterDecoding !== undefined) await afterDecoding;
  const wanted = await change.wanted(oldObject);
  const afterTracking = pauseInTurn();
  if (afterTracking !== undefined) await afterTracking;
  const mutated = withoutRepeatedOwners((await admit(registry, { ...subject, object: wanted })) ?? wanted, {
    when: "after admission",
    caller,
  });

  currentTrace()?.begin("validation");
  checkVersion(registry, { wanted: mutated, previous });
  const placed = inRequestNamespace(mutated, { scope: definition.scope, namespace });
  const merged = { ...placed, metadata: updatedMetadata(placed.metadata, oldObject.metadata) };
  const context = { ...hookContext(registry, subject), previous: oldObject };
  const strategy = updateStrategy(registry, subresource);
  const next = strategy.prepareForUpdate?.(merged, context) ?? merged;
  const started = strategy.startUpdateValidation?.(next, context);
  const validate = started === undefined ? () => strategy.validateUpdate?.(next, context) ?? [] : await started;

  const faults = firstFaults(() => {
    const ofMetadata = validateObjectMetaUpdate(next.metadata, {
      previous: oldObject.metadata,
      isNamespaced: definition.scope === "Namespaced",
      allowsShortFinalizers: definition.allowsShortFinalizers,
      validateName: (text, options) => definition.validateName(text, { ...options, object: next }),
    });
    const ofKind = withMetadataFaults(validate(), ofMetadata);
    const inexact = newInexactIntegers(registry.compiled.storedSchema, { next, previous: oldObject });
    return withInexactIntegers([...ofMetadata.general, ...ofKind], inexact);
  });
  if (faults.length > 0) throw invalid(registry.kind, { name: next.metadata.name ?? "", faults });
  for (const warning of strategy.warningsOnUpdate?.(next, context) ?? []) caller.warn(warning);
  const afterValidation = pauseInTurn();
  if (afterValidation !== undefined) await afterValidation;
  return { next, admitted: await validateAdmission(registry, { ...subject, object: next }) };
}

type UpdateStrategy<T extends ApiObject> = Pick<ResourceDefinition<T>, "warningsOnUpdate"> &
  Partial<Pick<UpdateSubresource<T>, "prepareForUpdate" | "validateUpdate" | "startUpdateValidation" | "isBounded">>;

function updateStrategy<T extends ApiObject>(
  { definition }: ResourceRegistry<T>,
  subresource: string,
): UpdateStrategy<T> {
  if (subresource === "") return definition;
  const found = definition.subresources?.[subresource];
  return found?.type === "update" ? found : {};
}

/** Optimistic concurrency: when the wanted object names a resourceVersion, it must be the stored one. */
function checkVersion<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { wanted, previous }: { readonly wanted: T; readonly previous: StoredObject<T> },
): void {
  const name = previous.object.metadata.name ?? "";
  const version = parseResourceVersion(wanted.metadata.resourceVersion ?? "");
  if (version === 0) {
    if (registry.definition.allowsUnconditionalUpdate !== false) return;
    throw invalid(registry.resource, {
      name,
      faults: [invalidValue("metadata.resourceVersion", { value: 0, detail: "must be specified for an update" })],
    });
  }
  if (version !== previous.revision) {
    throw conflict(registry.resource, {
      name,
      message: "the object has been modified; please apply your changes to the latest version and try again",
    });
  }
}

/** The metadata after an update: restores the fields that an update cannot change, or may leave out. */
function updatedMetadata(next: ObjectMeta, previous: ObjectMeta): ObjectMeta {
  const { selfLink: _selfLink, generation: _generation, ...kept } = next;
  const { uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generation, resourceVersion } =
    previous;
  return {
    ...kept,
    ...((kept.uid ?? "") === "" && uid !== undefined && { uid }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(deletionGracePeriodSeconds !== undefined &&
      kept.deletionGracePeriodSeconds === undefined && { deletionGracePeriodSeconds }),
    ...(generation !== undefined && { generation }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
}

async function writeVersion<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { change, previous, next, admitted }: Step<T> & NextVersion<T>,
): Promise<WriteOutcome<T>> {
  const { caller } = change;
  const { key } = previous;
  const finished = finishedDeletion(registry, { next, previous: previous.object, caller });
  if (finished === "remove") {
    const removal = await removeObject(registry, { previous, admitted });
    if (!removal.isWritten) return removal;
    const value = encodeStored(next);
    // The answer has the revision of the previous version, not of the removal (upstream: `Store.deleteWithoutFinalizers`).
    return { isWritten: true, object: registry.fromEntry({ key, value, modRevision: previous.revision }) };
  }
  const kept = finished ?? next;
  if (isUnchanged(kept, previous.object) && !(await registry.isStale(previous)))
    return { isWritten: true, object: previous };
  const value = registry.encode(kept, previous);
  const bytes = value.length - previous.storedBytes;
  const isBounded =
    change.subresource === "" || updateStrategy(registry, change.subresource).isBounded?.(kept) === true;
  const growth = isBounded ? registry.requireRoom(kept, { key, user: caller.user, bytes }) : undefined;
  if (caller.isDryRun) {
    return { isWritten: true, object: registry.fromEntry({ key, value, modRevision: previous.revision }) };
  }
  const result = await registry.write(admitted, { key, value, expectedRevision: previous.revision, growth });
  return writeOutcome(registry, { key, value, result });
}

/** Whether an update changes at most the times in managedFields. Such a write is skipped, and the object keeps its resourceVersion. */
const isUnchanged = (next: ApiObject, previous: ApiObject): boolean =>
  next === previous ||
  (isSameJson(withoutMetadata(next), withoutMetadata(previous)) &&
    isSameJson(comparable(next.metadata), comparable(previous.metadata)));

const withoutMetadata = ({ metadata: _metadata, ...content }: ApiObject): unknown => content;

function comparable(metadata: ObjectMeta): unknown {
  const { managedFields = [], resourceVersion: _resourceVersion, selfLink: _selfLink, ...compared } = metadata;
  return { ...compared, managedFields: managedFields.map(({ time: _time, ...entry }) => entry) };
}
