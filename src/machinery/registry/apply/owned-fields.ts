import { memberSchemaOf } from "../../schema/schema.ts";
import type { ObjectSchema, Schema } from "../../schema/schema.ts";
import type { Comparison } from "./compare-fields.ts";
import { difference, emptySet, isEmpty, recursiveDifference, setOfPath, union, withMember } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { isNamedField } from "./field-shape.ts";
import type { FieldManager, FieldManagers } from "./managed-fields.ts";
import { fieldElement } from "./path-element.ts";

/** The fields with these paths. */
export const setOfPaths = (paths: readonly (readonly string[])[]): FieldSet =>
  paths.map((path) => setOfPath(path.map(fieldElement))).reduce(union, emptySet);

/** Fields that no manager can own, because the server sets them (upstream: stripMeta). */
const serverFields = setOfPaths([
  ["apiVersion"],
  ["kind"],
  ["metadata"],
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
  ].map((name) => ["metadata", name]),
]);

export const withoutServerFields = (fields: FieldSet): FieldSet => difference(fields, serverFields);

/** The comparison without the fields that the endpoint does not write. */
export const withoutFields = (comparison: Comparison, fields: FieldSet): Comparison =>
  isEmpty(fields)
    ? comparison
    : {
        added: recursiveDifference(comparison.added, fields),
        modified: recursiveDifference(comparison.modified, fields),
        removed: recursiveDifference(comparison.removed, fields),
      };

interface Versions {
  readonly apiVersion: string;
  readonly apiVersions?: ReadonlySet<string>;
}

/** Whether every manager owns fields, and has a version that the server knows. */
export function areCurrent(
  managers: FieldManagers,
  { apiVersion, apiVersions = new Set([apiVersion]) }: Versions,
): boolean {
  for (const manager of managers.values()) {
    if (isEmpty(manager.fields) || !apiVersions.has(manager.apiVersion)) return false;
  }
  return true;
}

interface CurrentForm extends Versions {
  readonly compiled: { readonly schema: ObjectSchema };
}

/**
 * Adapts the managers' sets to the current schema: a path inside a value that is owned as a whole becomes the path of that
 * value. Entries of other versions are left out, because the server no longer knows their meaning.
 */
export function currentManagers(
  managers: FieldManagers,
  { compiled, apiVersion, apiVersions = new Set([apiVersion]) }: CurrentForm,
): Map<string, FieldManager> {
  const current = new Map<string, FieldManager>();
  for (const [id, manager] of managers) {
    if (!apiVersions.has(manager.apiVersion)) continue;
    const fields = isEmpty(manager.fields) ? emptySet : wholeValues(compiled.schema, manager.fields);
    current.set(id, fields === manager.fields ? manager : { ...manager, fields });
  }
  return current;
}

function wholeValues(schema: Schema | undefined, node: FieldSet): FieldSet {
  if (schema === undefined || isEmpty(node)) return node;
  const isWhole = schema.type === "array" ? schema.list === "atomic" : "isAtomic" in schema && schema.isAtomic;
  if (isWhole) return {};
  let result = node;
  for (const element in node) {
    const child = node[element] ?? {};
    const whole = wholeValues(schemaBelow(schema, element), child);
    if (whole === child) continue;
    if (result === node) result = { ...node };
    result[element] = whole;
  }
  return result;
}

function schemaBelow(schema: Schema | undefined, element: string): Schema | undefined {
  if (element.startsWith("f:")) return memberSchemaOf(schema, element.slice(2));
  return schema?.type === "array" ? schema.items : undefined;
}

/** The set, with each struct field in its paths as a member too (upstream: EnsureNamedFieldsAreMembers). */
export function withNamedFields(schema: Schema | undefined, node: FieldSet): FieldSet {
  const result: FieldSet = {};
  for (const element in node) {
    const child = withNamedFields(schemaBelow(schema, element), node[element] ?? {});
    const isNamed = element.startsWith("f:") && isNamedField(schema, element.slice(2));
    result[element] = isNamed ? withMember(child) : child;
  }
  return result;
}

/** The managers after a write: they lose the fields that it changed. Managers without fields are removed. */
export function releaseFields(
  managers: Map<string, FieldManager>,
  { added, modified, removed }: Comparison,
): Map<string, FieldManager> {
  const released = new Map<string, FieldManager>();
  for (const [id, manager] of managers) {
    const fields = difference(difference(difference(manager.fields, added), modified), removed);
    if (!isEmpty(fields)) released.set(id, { ...manager, fields });
  }
  return released;
}
