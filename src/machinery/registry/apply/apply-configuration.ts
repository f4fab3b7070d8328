import { badRequest, invalid, ApiError } from "../../api/api-error.ts";
import { timestamp } from "../../api/clock.ts";
import { maximumFaults } from "../../api/validation/field-error.ts";
import type { FieldError } from "../../api/validation/field-error.ts";
import { withoutManagedFields } from "../../api/object-meta.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import { apiVersionOf, parseApiVersion, printKind } from "../../api/resource-type.ts";
import type { GroupVersionKind } from "../../api/resource-type.ts";
import type { ObjectSchema } from "../../schema/schema.ts";
import { isJsonObject, jsonFields, jsonTypeName, memberOf } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import { isSameJson } from "../patch/json-value.ts";
import { compareFields } from "./compare-fields.ts";
import type { Comparison } from "./compare-fields.ts";
import { configurationFaults } from "./configuration-faults.ts";
import { updateManagers, withManagedFields, writerOf } from "./track-update.ts";
import type { FieldWrite } from "./track-update.ts";
import {
  difference,
  emptySet,
  intersection,
  isEmpty,
  memberCount,
  recursiveDifference,
  union,
  unionOfAll,
  pathsOf,
} from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { fieldsOf, recordedFieldsOf } from "./fields-of.ts";
import { lastAppliedFields, lastAppliedManager, withLastApplied } from "./last-applied.ts";
import { decodeManagers, encodeManagers, managerId, servedFields } from "./managed-fields.ts";
import type { FieldManager, FieldManagers } from "./managed-fields.ts";
import { mergeFields, removeFields } from "./merge-fields.ts";
import { currentManagers, releaseFields, withNamedFields, withoutFields, withoutServerFields } from "./owned-fields.ts";
import { shortened } from "../../api/text/format-value.ts";
import { UntrackableEntry, printPath } from "./path-element.ts";

/** What an apply sends: an object that may lack its metadata. Without them, the manager gives up all that it applied of them. */
export type AppliedObject = Omit<ApiObject, "metadata"> & Partial<Pick<ApiObject, "metadata">>;

export interface ApplyRequest extends FieldWrite {
  /** The object's name, for messages: the configuration may have none. */
  readonly name: string;
  /** The stored object. Undefined when the apply creates it. */
  readonly live: ApiObject | undefined;
  /** The applied configuration (`parseConfiguration`), including its nulls. */
  readonly configuration: AppliedObject;
  /** Takes over fields that other managers own. */
  readonly isForced: boolean;
}

/** The manager of the fields that an object without managedFields had before its first apply. */
const unrecordedManager = "before-first-apply";

/**
 * Server-side apply. Merges the configuration into the live object, removes the fields that the manager applied last
 * time and that have no owner any more, and records the manager as the owner of what it applies. The result may contain
 * nulls, and still needs decoding and defaulting. The manager's time is set to now, even when nothing else changed. Yields
 * between its steps.
 *
 * Throws ApiErrors: 422 for a configuration that does not fit the schema, 409 for fields that other managers own.
 */
export function* applyConfiguration(request: ApplyRequest): Generator<undefined, ApiObject> {
  const { compiled, name, live, apiVersion, configuration } = request;
  const faults = yield* configurationFaults(compiled.schema, configuration);
  const refusal = (causes: readonly FieldError[]): ApiError => {
    const group = parseApiVersion(apiVersion)?.group ?? "";
    return invalid({ group, resource: configuration.kind }, { name, faults: causes });
  };
  if (faults.length > 0) throw refusal(faults);
  yield;
  try {
    const start = live === undefined ? compiled.emptyObject : compiled.withOwnTimes(withoutManagedFields(live));
    return yield* applyChecked(request, start as ApiObject); // an empty object is valid except for its name
  } catch (error) {
    if (!(error instanceof UntrackableEntry)) throw error;
    const message = `Invalid value: the live object cannot be merged: ${error.message}`;
    throw refusal([{ reason: "FieldValueInvalid", field: "", message }]);
  }
}

function* applyChecked(request: ApplyRequest, live: ApiObject): Generator<undefined, ApiObject> {
  const { configuration, now } = request;
  const { schema } = request.compiled;
  const { managers, stored } = yield* managersBefore(request);
  yield;
  const writer = writerOf(request, "Apply");
  const id = managerId(writer);
  const last = managers.get(id);
  // Kept also when the manager applied another version, whose fields are left out.
  const lastTime = stored?.get(id)?.time;
  const reset = request.resetFields ?? emptySet;
  const applied: FieldManager = {
    ...writer,
    time: lastTime,
    fields: recursiveDifference(recordedFieldsOf(schema, configuration), reset),
  };
  managers.set(id, applied);
  yield;
  const merged = mergeFields({ schema, live, applied: configuration });
  yield;
  const pruned = (yield* prune({ schema, merged, last: last?.fields ?? emptySet, managers })) as JsonObject; // kind and name stay
  yield;
  const compared = compareFields({ schema, before: live, after: pruned });
  yield;
  const comparison = withoutFields(compared, reset);
  yield* requireNoConflict({ request, live, managers, comparison, id });
  yield;

  const released = releaseFields(managers, comparison);
  yield;
  const owned = withoutServerFields(applied.fields);
  const isChanged = !isSameJson(live, pruned);
  if (isEmpty(owned)) released.delete(id);
  else released.set(id, { ...applied, fields: owned, time: isChanged ? timestamp(now) : lastTime });
  yield;
  const object = request.manager === lastAppliedManager ? withLastApplied(pruned, { ...configuration }) : pruned;
  // Merging two objects of a kind gives an object of that kind: the schema was checked.
  // Without metadata it has no name, and is refused for it.
  const named = { metadata: {}, ...object } as unknown as ApiObject;
  return withManagedFields(named, encodeManagers(released, request.fieldNamesOf));
}

interface ManagersBefore {
  readonly managers: Map<string, FieldManager>;
  /** The managers as they are stored, of every version. Undefined when they cannot be read. */
  readonly stored: FieldManagers | undefined;
}

function* managersBefore(request: ApplyRequest): Generator<undefined, ManagersBefore> {
  const { live } = request;
  const stored = decodeManagers(live?.metadata.managedFields ?? [], request.fieldNamesOf);
  if (live === undefined || (stored !== undefined && stored.size > 0)) {
    return { managers: currentManagers(stored ?? new Map(), request), stored };
  }
  const write = { ...request, manager: unrecordedManager };
  const managers = new Map(yield* updateManagers({ write, managers: new Map(), before: undefined, after: live }));
  return { managers, stored };
}

interface Conflicting {
  readonly request: ApplyRequest;
  readonly live: ApiObject;
  readonly managers: ReadonlyMap<string, FieldManager>;
  readonly comparison: Comparison;
  readonly id: string;
}

function* requireNoConflict({ request, live, managers, comparison, id }: Conflicting): Generator<undefined, void> {
  if (request.isForced) return;
  const changed = union(comparison.modified, comparison.added);
  const allowed =
    request.manager === lastAppliedManager ? lastAppliedFields(request.compiled.schema, { ...live }) : emptySet;
  const conflicts: Conflict[] = [];
  for (const [other, manager] of [...managers].sort(([left], [right]) => (left < right ? -1 : 1))) {
    if (other === id) continue;
    yield;
    const fields = difference(intersection(manager.fields, changed), allowed);
    if (isEmpty(fields)) continue;
    const { fieldNamesOf } = request;
    conflicts.push({ manager, fields: servedFields(fields, { apiVersion: manager.apiVersion, fieldNamesOf }) });
  }
  yield;
  if (conflicts.length > 0) throw applyConflict(conflicts);
}

interface Pruning {
  readonly schema: ObjectSchema;
  readonly merged: unknown;
  /** The fields that the manager applied last time. */
  readonly last: FieldSet;
  /** Includes the fields that the manager applies now. */
  readonly managers: ReadonlyMap<string, FieldManager>;
}

/** Removes the fields that the manager applied last time and that have no owner now (upstream: Updater.prune). */
function* prune({ schema, merged, last, managers }: Pruning): Generator<undefined, unknown> {
  if (isEmpty(last)) return merged;
  const named = (fields: FieldSet): FieldSet => withNamedFields(schema, fields);
  const present = named(fieldsOf(schema, merged));
  yield;
  const lastNamed = named(last);
  const without = removeFields({ schema, value: merged }, lastNamed);
  yield;
  const managed = named(unionOfAll([...managers.values()].map(({ fields }) => fields)));
  // Items of other managers were removed with their parents, so add them again.
  yield;
  const kept = union(named(fieldsOf(schema, without)), managed);
  yield;
  const owned = removeFields({ schema, value: merged }, difference(present, kept));
  yield;
  // Items inside a removed value that never had an owner also stay, unless the manager had applied them.
  const dangling = difference(present, named(fieldsOf(schema, owned)));
  return removeFields({ schema, value: merged }, intersection(dangling, lastNamed));
}

/** The fields that an apply would change although another manager owns them. */
interface Conflict {
  readonly manager: FieldManager;
  readonly fields: FieldSet;
}

function printManager({ manager, operation, apiVersion, subresource }: FieldManager): string {
  const through = subresource === "" ? "" : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(manager)}${through}${operation === "Update" ? ` using ${apiVersion}` : ""}`;
}

/** The 409 of an apply: the first hundred conflicting fields, each with its manager. */
function applyConflict(conflicts: readonly Conflict[]): ApiError {
  const found: { readonly manager: string; readonly paths: string[] }[] = [];
  let count = 0;
  for (const { manager, fields } of conflicts) {
    const paths: string[] = [];
    for (const path of pathsOf(fields)) {
      if (count + paths.length >= maximumFaults) break;
      paths.push(shortened(printPath(path)));
    }
    count += memberCount(fields);
    if (paths.length > 0) found.push({ manager: printManager(manager), paths });
  }
  const causes = found.flatMap(({ manager, paths }) =>
    paths.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${manager}`, field })),
  );
  const [first] = found;
  const summary =
    count === 1 && first !== undefined
      ? `1 conflict: conflict with ${first.manager}: ${first.paths[0] ?? ""}`
      : `${count} conflicts: ${found
          .map(({ manager, paths }) => [`conflicts with ${manager}:`, ...paths.map((path) => `- ${path}`)].join("\n"))
          .join("\n")}`;
  return new ApiError({ code: 409, reason: "Conflict", message: `Apply failed with ${summary}`, details: { causes } });
}

/**
 * Checks the parsed body of an apply (YAML or JSON; an empty body is null): it must be an object of exactly the kind of
 * the path, without managedFields. Throws 400 ApiErrors in upstream's words. The caller handles parse errors.
 */
export function parseConfiguration(body: unknown, expected: GroupVersionKind): AppliedObject {
  if (body !== null && !isJsonObject(body)) {
    throw badRequest(
      "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal " +
        `${jsonTypeName(body)} into Go value of type map[string]interface {}`,
    );
  }
  const configuration = body ?? {};
  const given = kindOf(configuration);
  if (printKind(given) !== printKind(expected)) throw badRequest(`invalid object type: ${printKind(given)}`);
  const metadata = memberOf(configuration, "metadata");
  const managedFields = memberOf(jsonFields(metadata), "managedFields") ?? undefined;
  if (managedFields !== undefined) throw badRequest("metadata.managedFields must be nil");
  return {
    ...configuration,
    apiVersion: apiVersionOf(expected),
    ...(metadata !== undefined && { metadata: metadata ?? {} }),
  } as AppliedObject; // its fields are checked when it is applied
}

function kindOf(configuration: Readonly<Record<string, unknown>>): GroupVersionKind {
  const text = (key: string): string => {
    const value = memberOf(configuration, key);
    return typeof value === "string" ? value : "";
  };
  const parsed = parseApiVersion(text("apiVersion"));
  // For a version with two slashes, upstream ignores the kind too.
  return parsed === undefined ? { group: "", version: "", kind: "" } : { ...parsed, kind: text("kind") };
}
