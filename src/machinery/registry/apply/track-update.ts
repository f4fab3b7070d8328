import { withoutManagedFields } from "../../api/object-meta.ts";
import type { ApiObject, ManagedFieldsEntry } from "../../api/object-meta.ts";
import { timestamp } from "../../api/clock.ts";
import type { CompiledSchema } from "../definition/compiled-schema.ts";
import { isSameJson } from "../patch/json-value.ts";
import { compareFields } from "./compare-fields.ts";
import { emptySet, isEmpty, union, unionOfAll } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { maximumFields } from "./fields-of.ts";
import { decodeManagers, encodeManagers, managerId } from "./managed-fields.ts";
import type { FieldManager, FieldManagers, FieldNamesOf, Operation } from "./managed-fields.ts";
import { areCurrent, currentManagers, releaseFields, withoutFields, withoutServerFields } from "./owned-fields.ts";
import { UntrackableEntry } from "./path-element.ts";

/** The parts of a write that field management needs: the writer, the endpoint, and the kind. */
export interface FieldWrite {
  readonly compiled: CompiledSchema;
  /** The fieldManager parameter, or the first part of the User-Agent. "" is recorded as `unknown`. */
  readonly manager: string;
  /** The apiVersion that the request names. It is recorded with the manager. */
  readonly apiVersion: string;
  /** All apiVersions that serve the kind. Entries of other versions are dropped. Default: only `apiVersion`. */
  readonly apiVersions?: ReadonlySet<string>;
  /** The field names of versions that differ from those of `compiled`, by apiVersion. Default: none. */
  readonly fieldNamesOf?: FieldNamesOf;
  /** Empty for the resource itself. */
  readonly subresource: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /**
   * Fields that this endpoint does not write: no manager becomes their owner through it (upstream: GetResetFields).
   * Default: none.
   */
  readonly resetFields?: FieldSet | undefined;
}

interface UpdateTracking extends FieldWrite {
  /** The stored object. Undefined for a create. */
  readonly previous: ApiObject | undefined;
  /**
   * The object that the client wants, decoded and defaulted, before prepareForCreate or prepareForUpdate. Its
   * managedFields come from the client: absent means unchanged, `[]` or `[{}]` resets them, invalid ones are ignored.
   */
  readonly next: ApiObject;
}

/**
 * Returns `next` with updated managedFields after a create, update or patch. The writer becomes the owner of what it
 * changed, and other managers lose those fields. An object without managedFields gets none (until it is applied).
 * Timestamps change only when the fields do. Yields between its steps. Throws a 413 for an object with too many fields.
 */
export function* trackUpdate(tracking: UpdateTracking): Generator<undefined, ApiObject> {
  const { previous, next } = tracking;
  const { entries, managers } = managersBefore(tracking);
  if (managers.size === 0 && previous !== undefined) return withManagedFields(next, []);
  yield;
  try {
    const updated = yield* updateManagers({ write: tracking, managers, before: previous, after: next });
    yield;
    return withManagedFields(
      next,
      updated === managers && entries !== undefined ? entries : encodeManagers(updated, tracking.fieldNamesOf),
    );
  } catch (error) {
    // A list entry has no key, so its fields cannot be owned (upstream clears managedFields too).
    if (error instanceof UntrackableEntry) return withManagedFields(next, []);
    throw error;
  }
}

interface ManagersBefore {
  /** The stored entries, which stay when nothing changes. Undefined when a client writes managedFields itself. */
  readonly entries: ManagedFieldsEntry[] | undefined;
  readonly managers: FieldManagers;
}

/** The managers before the write: those that the client sent, if it may write them and they are valid, otherwise the stored ones. */
function managersBefore({ previous, next, subresource, fieldNamesOf }: UpdateTracking): ManagersBefore {
  const stored = previous?.metadata.managedFields;
  const given = subresource === "" ? next.metadata.managedFields : undefined;
  if (given !== undefined && given !== stored && !isSameJson(given, stored)) {
    const [first] = given;
    const isReset = first === undefined || (given.length === 1 && Object.keys(first).length === 0);
    if (isReset) return { entries: undefined, managers: new Map() };
    const managers = decodeManagers(given, fieldNamesOf);
    if (managers !== undefined) return { entries: undefined, managers };
  }
  return { entries: stored, managers: decodeManagers(stored ?? [], fieldNamesOf) ?? new Map() };
}

interface ManagersUpdate {
  readonly write: FieldWrite;
  readonly managers: FieldManagers;
  /** Undefined for a create. */
  readonly before: ApiObject | undefined;
  readonly after: ApiObject;
}

/** Computes the managers after an update, or returns `managers` when nothing changed. Yields between its steps. Throws UntrackableEntry. */
export function* updateManagers({
  write,
  managers,
  before,
  after,
}: ManagersUpdate): Generator<undefined, FieldManagers> {
  const { compiled, now } = write;
  const compared = compareFields({
    schema: compiled.schema,
    before: before === undefined ? compiled.emptyObject : compiled.withOwnTimes(withoutManagedFields(before)),
    after: compiled.withOwnTimes(withoutManagedFields(after)),
    maximumAdded: maximumFields,
  });
  const isUnchanged = isEmpty(compared.added) && isEmpty(compared.modified) && isEmpty(compared.removed);
  if (isUnchanged && areCurrent(managers, write)) return managers;
  yield;
  const comparison = withoutFields(compared, write.resetFields ?? emptySet);
  const updated =
    managers.size === 0 ? new Map<string, FieldManager>() : releaseFields(currentManagers(managers, write), comparison);
  yield;
  const owned = withoutServerFields(union(comparison.modified, comparison.added));
  if (!isEmpty(owned)) {
    const writer = writerOf(write, "Update");
    const id = managerId(writer);
    const fields = union(owned, updated.get(id)?.fields ?? emptySet);
    updated.set(id, { ...writer, time: timestamp(now), fields });
  }
  return updated.size <= 1 ? updated : capUpdateManagers(updated);
}

export const writerOf = (
  { manager, apiVersion, subresource }: FieldWrite,
  operation: Operation,
): Omit<FieldManager, "time" | "fields"> => ({
  manager: manager === "" ? "unknown" : manager,
  operation,
  apiVersion,
  subresource,
});

/** Sets the managedFields of an object; an empty list removes them. */
export function withManagedFields(object: ApiObject, entries: ManagedFieldsEntry[]): ApiObject {
  if (entries.length === 0) return withoutManagedFields(object);
  if (object.metadata.managedFields === entries) return object;
  return { ...object, metadata: { ...object.metadata, managedFields: entries } };
}

/** Upstream: DefaultMaxUpdateManagers. */
const maximumUpdateManagers = 10;
const bucketManager = "ancient-changes";

/**
 * Limits the number of updaters of an object: merges the oldest ones of a version into one, `ancient-changes`. Appliers
 * are never merged.
 */
function capUpdateManagers(managers: FieldManagers): FieldManagers {
  const updaters = [...managers.values()].filter(({ operation }) => operation === "Update");
  if (updaters.length <= maximumUpdateManagers) return managers;
  const capped = new Map(managers);
  for (const [apiVersion, merged] of oldestByVersion(updaters)) {
    if (merged.length < 2) continue;
    const bucket = { manager: bucketManager, operation: "Update", apiVersion, subresource: "" } as const;
    for (const updater of merged) capped.delete(managerId(updater));
    const fields = unionOfAll([...merged, capped.get(managerId(bucket))].map((updater) => updater?.fields ?? emptySet));
    capped.set(managerId(bucket), { ...bucket, time: merged.at(-1)?.time, fields });
  }
  return capped;
}

/** The oldest updaters to merge, by version, as few as necessary. Of a version, every updater after the first saves one entry. */
function oldestByVersion(updaters: readonly FieldManager[]): Map<string, FieldManager[]> {
  const ageOf = (updater: FieldManager): string => `${updater.time ?? ""}\n${managerId(updater)}`;
  const oldestFirst = updaters.toSorted((left, right) => (ageOf(left) < ageOf(right) ? -1 : 1));
  const byVersion = new Map<string, FieldManager[]>();
  let excess = updaters.length - maximumUpdateManagers;
  for (const updater of oldestFirst) {
    if (excess === 0) break;
    const merged = byVersion.get(updater.apiVersion);
    if (merged === undefined) {
      byVersion.set(updater.apiVersion, [updater]);
    } else {
      merged.push(updater);
      excess--;
    }
  }
  return byVersion;
}
