import type { ManagedFieldsEntry } from "../../api/object-meta.ts";
import { decodeFieldSet, emptySet, sorted } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";

export type Operation = "Apply" | "Update";

/** One manager, with the fields that it owns in an object. */
export interface FieldManager {
  readonly manager: string;
  readonly operation: Operation;
  readonly apiVersion: string;
  readonly subresource: string;
  /** RFC 3339. Undefined when this manager's writes have not changed the object. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** Converts field sets between the stored names of fields and the names that a version gives them. */
export interface OwnedFieldNames {
  ownedToStored(fields: FieldSet): FieldSet;
  ownedToServed(fields: FieldSet): FieldSet;
}

/** The names of each version that differs from the stored form, by apiVersion. */
export type FieldNamesOf = ReadonlyMap<string, OwnedFieldNames>;

/** The fields under the names of the manager's version. */
export const servedFields = (
  fields: FieldSet,
  { apiVersion, fieldNamesOf }: { readonly apiVersion: string; readonly fieldNamesOf: FieldNamesOf | undefined },
): FieldSet => fieldNamesOf?.get(apiVersion)?.ownedToServed(fields) ?? fields;

/** The managers of an object, by id. */
export type FieldManagers = ReadonlyMap<string, FieldManager>;

/**
 * A manager's unique id, in upstream's format, because managers are sorted by it. The id of an applier does not depend
 * on the version.
 */
export function managerId({
  manager,
  operation,
  apiVersion,
  subresource,
}: Omit<FieldManager, "time" | "fields">): string {
  return JSON.stringify({
    ...(manager !== "" && { manager }),
    operation,
    ...(operation === "Update" && { apiVersion }),
    ...(subresource !== "" && { subresource }),
  });
}

/** Decodes stored managedFields, with the names of stored fields. Undefined when an entry is invalid. */
export function decodeManagers(
  entries: readonly ManagedFieldsEntry[],
  fieldNamesOf?: FieldNamesOf,
): FieldManagers | undefined {
  const managers = new Map<string, FieldManager>();
  for (const { manager = "", operation, apiVersion = "", subresource = "", time, fieldsType, fieldsV1 } of entries) {
    if ((operation !== "Apply" && operation !== "Update") || apiVersion === "" || fieldsType !== "FieldsV1") {
      return undefined;
    }
    let fields: FieldSet;
    try {
      fields = decodeFieldSet(fieldsV1 ?? emptySet);
      fields = fieldNamesOf?.get(apiVersion)?.ownedToStored(fields) ?? fields;
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
    const decoded: FieldManager = { manager, operation, apiVersion, subresource, time, fields };
    managers.set(managerId(decoded), decoded);
  }
  return managers;
}

/** Encodes managers for storage: appliers before updaters, oldest first. Each entry has the field names of its version. */
export const encodeManagers = (managers: FieldManagers, fieldNamesOf?: FieldNamesOf): ManagedFieldsEntry[] =>
  [...managers.values()].sort(compareManagers).map(({ manager, operation, apiVersion, subresource, time, fields }) => ({
    ...(manager !== "" && { manager }),
    operation,
    apiVersion,
    ...(time !== undefined && { time }),
    fieldsType: "FieldsV1",
    fieldsV1: sorted(servedFields(fields, { apiVersion, fieldNamesOf })),
    ...(subresource !== "" && { subresource }),
  }));

const sortKeys = [
  (one: FieldManager) => one.operation,
  (one: FieldManager) => one.time ?? "",
  (one: FieldManager) => one.manager,
  (one: FieldManager) => one.apiVersion,
  (one: FieldManager) => one.subresource,
];

function compareManagers(left: FieldManager, right: FieldManager): number {
  for (const keyOf of sortKeys) {
    const [a, b] = [keyOf(left), keyOf(right)];
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}
