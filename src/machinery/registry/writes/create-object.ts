import { randomUUID } from "node:crypto";
import { alreadyExists, ApiError, badRequest, invalid } from "../../api/api-error.ts";
import { timestamp } from "../../api/clock.ts";
import { firstFaults } from "../../api/validation/field-error.ts";
import type { ApiObject, ObjectMeta } from "../../api/object-meta.ts";
import type { ValidateName } from "../../api/validation/name-validation.ts";
import { validateObjectMeta } from "../../api/validation/object-meta-validation.ts";
import { inTurns, pauseInTurn } from "../../scheduling/request-turn.ts";
import { currentTrace } from "../../tracing/request-trace.ts";
import { admit, validateAdmission } from "../admission.ts";
import type { Caller } from "../caller.ts";
import { trackUpdate } from "../apply/track-update.ts";
import { generateName, inRequestNamespace } from "./requested-name.ts";
import { withoutRepeatedOwners } from "./owner-references.ts";
import { withMetadataFaults } from "../definition/kind-faults.ts";
import type { KindFault } from "../definition/kind-faults.ts";
import { hookContext } from "./hook-context.ts";
import type { ResourceRegistry } from "../resource-registry.ts";
import { withInexactIntegers } from "./inexact-integers.ts";
import { parseResourceVersion, revisionOfNew } from "../resource-version.ts";
import { storageKey } from "../stored/storage-key.ts";
import type { StoredObject } from "../stored/stored-object.ts";
import { fieldWrite } from "./field-write.ts";

export interface CreateRequest<T extends ApiObject> {
  /** Decoded and defaulted. */
  readonly object: T;
  readonly namespace: string;
  /** The manager of the fields that the object sets. */
  readonly manager: string;
  readonly caller: Caller;
}

/** How often to try another generated name when one is taken. */
const maximumNameAttempts = 8;

/** Creates an object; a dry run only returns it. Throws 400, 409, 422 and the errors of admission. */
export async function createObject<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { object, namespace, manager, caller }: CreateRequest<T>,
): Promise<StoredObject<T>> {
  const { definition } = registry;
  const sent = withoutRepeatedOwners(withoutSystemFields(object), { when: "as sent", caller });
  const placed = inRequestNamespace(sent, { scope: definition.scope, namespace });
  const write = fieldWrite(registry, { manager, subresource: "" });
  const afterDecoding = pauseInTurn();
  if (afterDecoding !== undefined) await afterDecoding;
  const tracking = inTurns(trackUpdate({ ...write, previous: undefined, next: placed }));
  const tracked = (tracking instanceof Promise ? await tracking : tracking) as T; // changes only managedFields
  const afterTracking = pauseInTurn();
  if (afterTracking !== undefined) await afterTracking;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await createTracked(registry, { object: tracked, namespace, caller });
    } catch (error) {
      const isNameTaken = error instanceof ApiError && error.reason === "AlreadyExists";
      const { name = "", generateName: prefix = "" } = tracked.metadata;
      if (!isNameTaken || prefix === "") throw error;
      // Upstream answers so also when the client sent a name too, so that none was generated (`CheckGeneratedNameError`).
      if (name !== "" || attempt === maximumNameAttempts) throw noUniqueName(error);
    }
  }
}

interface TrackedCreation<T extends ApiObject> extends Omit<CreateRequest<T>, "manager"> {
  /** Whether a PUT or a patch creates the object. Then the object may have a resourceVersion, as in upstream. */
  readonly isThroughUpdate?: boolean;
}

/** Creates an object whose managedFields are already set: the second half of a create, or of an apply that creates. */
export async function createTracked<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { object, namespace, caller, isThroughUpdate = false }: TrackedCreation<T>,
): Promise<StoredObject<T>> {
  const { definition } = registry;
  const pathName = isThroughUpdate ? (object.metadata.name ?? "") : "";
  const subject = { operation: "CREATE", caller, subresource: "", namespace, pathName } as const;
  const mutated = withoutRepeatedOwners(
    (await admit(registry, { ...subject, name: object.metadata.name ?? "", object })) ?? object,
    { when: "after admission", caller },
  );
  const sentRevision = (isThroughUpdate ? parseResourceVersion : revisionOfNew)(mutated.metadata.resourceVersion ?? "");

  currentTrace()?.begin("validation");
  const context = hookContext(registry, subject);
  const initialized = { ...mutated, metadata: initialMetadata(mutated.metadata, context.now) };
  const prepared = definition.prepareForCreate?.(initialized, context) ?? initialized;
  const started = definition.startValidation?.(prepared, context);
  const validate = started === undefined ? () => definition.validate?.(prepared, context) ?? [] : await started;
  validateNew(registry, { object: prepared, validate });
  for (const warning of definition.warningsOnCreate?.(prepared) ?? []) caller.warn(warning);
  const created = definition.canonicalize?.(prepared) ?? prepared;
  const name = created.metadata.name ?? "";
  const afterValidation = pauseInTurn();
  if (afterValidation !== undefined) await afterValidation;
  const admitted = await validateAdmission(registry, { ...subject, name, object: created });

  const where = { namespace: created.metadata.namespace ?? "", name };
  const key = storageKey(definition, where);
  if (key === undefined) throw registry.nameTooLong(where);
  const value = registry.encode(created);
  const growth = registry.requireRoom(created, { key, user: caller.user, bytes: value.length });
  if (caller.isDryRun) {
    await registry.waitForFreshCache(caller);
    const taken = registry.cache.get(key);
    if (taken !== undefined) throw nameTaken(registry, { name, taken });
    return registry.fromEntry({ key, value, modRevision: sentRevision });
  }
  // Only here, because upstream's storage refuses it: an invalid object is refused before, and a dry run shows the sent version.
  if (sentRevision !== 0 && !isThroughUpdate) {
    throw badRequest("resourceVersion should not be set on objects to be created");
  }
  const result = await registry.write(admitted, { key, value, expectedRevision: 0, growth });
  if (result.isWritten) return registry.written({ key, value, modRevision: result.revision });
  throw nameTaken(registry, { name, taken: result.current && registry.fromEntry(result.current) });
}

/** Removes the fields that only the server sets on a new object (upstream: `WipeObjectMetaSystemFields`). */
export const withoutSystemFields = <T extends ApiObject>(object: T): T => ({
  ...object,
  metadata: sentMetadata(object.metadata),
});

function sentMetadata({
  uid: _uid,
  creationTimestamp: _creationTimestamp,
  selfLink: _selfLink,
  deletionTimestamp: _deletionTimestamp,
  deletionGracePeriodSeconds: _deletionGracePeriodSeconds,
  ...sent
}: ObjectMeta): ObjectMeta {
  return sent;
}

function initialMetadata(metadata: ObjectMeta, now: number): ObjectMeta {
  const { name = "", generateName: prefix = "" } = metadata;
  return {
    ...sentMetadata(metadata),
    ...(name === "" && prefix !== "" && { name: generateName(prefix) }),
    uid: randomUUID(),
    creationTimestamp: timestamp(now),
  };
}

function validateNew<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { object, validate }: { readonly object: T; readonly validate: () => readonly KindFault[] },
): void {
  const { definition, compiled } = registry;
  const rules = {
    isNamespaced: definition.scope === "Namespaced",
    allowsShortFinalizers: definition.allowsShortFinalizers,
    validateName: ((name, options) => definition.validateName(name, { ...options, object })) satisfies ValidateName,
  };
  const faults = firstFaults(() => {
    const { whole, general } = validateObjectMeta(object.metadata, rules);
    const ofKind = withMetadataFaults(validate(), { whole, change: [] });
    const found = withInexactIntegers(ofKind, compiled.storedSchema.inexactIntegers(object));
    return found.length > 0 ? found : general();
  });
  if (faults.length > 0) throw invalid(registry.kind, { name: object.metadata.name ?? "", faults });
}

const noUniqueName = (lastFailure: ApiError): ApiError =>
  lastFailure.with({
    message: `${lastFailure.message}, the server was not able to generate a unique name for the object`,
    details: { ...lastFailure.details, retryAfterSeconds: 1 },
  });

function nameTaken<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { name, taken }: { readonly name: string; readonly taken: StoredObject<T> | undefined },
): Error {
  const error = alreadyExists(registry.resource, name);
  const isBeingDeleted = taken?.object.metadata.deletionTimestamp !== undefined;
  return isBeingDeleted ? error.with({ message: `object is being deleted: ${error.message}` }) : error;
}
