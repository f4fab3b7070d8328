import type { ManagedFieldsEntry } from "../../api/object-meta.ts";
import { decodeFieldSet, emptySet, sorted } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";

export type Operation = "Apply" | "Update";

/** One manager's share of an object. */
export interface FieldManager {
  readonly manager: string;
  readonly operation: Operation;
  readonly apiVersion: string;
  readonly subresource: string;
  /** RFC 3339; undefined when no write by this manager has changed the object. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** The managers of an object by identity. */
export type FieldManagers = ReadonlyMap<string, FieldManager>;

/**
 * What tells managers apart, as upstream writes it (managers are sorted by it too). Appliers are the same at every
 * version.
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

/** Reads stored managedFields. undefined when an entry is invalid. */
export function decodeManagers(entries: readonly ManagedFieldsEntry[]): FieldManagers | undefined {
  const managers = new Map<string, FieldManager>();
  for (const { manager = "", operation, apiVersion = "", subresource = "", time, fieldsType, fieldsV1 } of entries) {
    if ((operation !== "Apply" && operation !== "Update") || apiVersion === "" || fieldsType !== "FieldsV1") {
      return undefined;
    }
    let fields: FieldSet;
    try {
      fields = decodeFieldSet(fieldsV1 ?? emptySet);
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
    const decoded: FieldManager = { manager, operation, apiVersion, subresource, time, fields };
    managers.set(managerId(decoded), decoded);
  }
  return managers;
}

/** The entries as they are stored: appliers before updaters, oldest first. */
export const encodeManagers = (managers: FieldManagers): ManagedFieldsEntry[] =>
  [...managers.values()].sort(compareManagers).map(({ manager, operation, apiVersion, subresource, time, fields }) => ({
    ...(manager !== "" && { manager }),
    operation,
    apiVersion,
    ...(time !== undefined && { time }),
    fieldsType: "FieldsV1",
    fieldsV1: sorted(fields),
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
