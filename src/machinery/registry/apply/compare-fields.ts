import { memberSchemaOf } from "../../schema/schema.ts";
import type { ArraySchema, Schema } from "../../schema/schema.ts";
import { isJsonObject, jsonFields, memberOf } from "../../api/json-object.ts";
import { isSameJson } from "../patch/json-value.ts";
import { emptySet } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { everyFieldOf } from "./fields-of.ts";
import { shapeOf, asList, entriesByElement } from "./field-shape.ts";
import { fieldElement } from "./path-element.ts";
import type { PathElement } from "./path-element.ts";

/** The fields in which two objects differ. */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

const sameFields: Comparison = { added: emptySet, modified: emptySet, removed: emptySet };

interface Pair {
  readonly schema: Schema | undefined;
  /** Undefined when absent. */
  readonly before: unknown;
  readonly after: unknown;
}

/** The comparison of a part of an object. A missing set is empty; {} stands for the part itself. */
type PartialComparison = { -readonly [K in keyof Comparison]?: FieldSet };

/**
 * Compares two objects for ownership: the order of `set` and `map` lists does not matter, duplicates in them are
 * compared as one value, and values that are owned as a whole are not compared inside. Throws UntrackableEntry.
 */
export const compareFields = (pair: Pair): Comparison => ({ ...sameFields, ...comparePair(pair) });

function comparePair({ schema, before, after }: Pair): PartialComparison | undefined {
  if (before === after) return undefined;
  if (before === undefined) return { added: everyFieldOf(schema, after) };
  if (after === undefined) return { removed: everyFieldOf(schema, before) };
  const shape = shapeOf(schema, after);
  if (shape.type === "entries") return compareEntries({ list: shape.list, before, after });
  if (shapeOf(schema, before).type !== shape.type) return compareUnlike({ schema, before, after });
  if (shape.type === "members") return compareMembers({ schema, before, after });
  return isSameJson(before, after) ? undefined : { modified: {} };
}

function isEmptyContainer(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : !isJsonObject(value) || Object.keys(value).length === 0;
}

/** Two empty containers are one leaf. This distinguishes null from empty. */
const compareEmpty = (before: unknown, after: unknown): PartialComparison | undefined =>
  isSameJson(before, after) ? undefined : { modified: {} };

function compareMembers({ schema, before, after }: Pair): PartialComparison | undefined {
  if (isEmptyContainer(before) && isEmptyContainer(after)) return compareEmpty(before, after);
  const [left, right] = [jsonFields(before), jsonFields(after)];
  let result: PartialComparison | undefined;
  for (const name in right) {
    const pair = { schema: memberSchemaOf(schema, name), before: memberOf(left, name), after: right[name] };
    result = attach(result, fieldElement(name), comparePair(pair));
  }
  for (const name in left) {
    if (Object.hasOwn(right, name)) continue;
    result = attach(result, fieldElement(name), { removed: everyFieldOf(memberSchemaOf(schema, name), left[name]) });
  }
  return result;
}

function compareEntries({
  list,
  before,
  after,
}: Omit<Pair, "schema"> & { readonly list: ArraySchema }): PartialComparison | undefined {
  if (isEmptyContainer(before) && isEmptyContainer(after)) return compareEmpty(before, after);
  const [left, right] = [entriesByElement(list, asList(before)), entriesByElement(list, asList(after))];
  let result: PartialComparison | undefined;
  for (const [element, entries] of right) {
    result = attach(
      result,
      element,
      compareDuplicates(list.items, { before: left.get(element) ?? [], after: entries }),
    );
  }
  for (const [element, entries] of left) {
    if (!right.has(element))
      result = attach(result, element, compareDuplicates(list.items, { before: entries, after: [] }));
  }
  return result;
}

/**
 * Compares the entries of one element: normally at most one on each side. Duplicates are compared together as one
 * value.
 */
function compareDuplicates(
  schema: Schema,
  { before, after }: { readonly before: readonly unknown[]; readonly after: readonly unknown[] },
): PartialComparison | undefined {
  if (before.length <= 1 && after.length <= 1) return comparePair({ schema, before: before[0], after: after[0] });
  if (before.length > 1 && after.length > 1) return isSameJson(before, after) ? undefined : { modified: {} };
  if (before.length > 1) {
    return { removed: {}, ...(after.length > 0 && { added: everyFieldOf(schema, after[0]) }) };
  }
  return { added: {}, ...(before.length > 0 && { removed: everyFieldOf(schema, before[0]) }) };
}

/**
 * Compares a value that changed from an object to something else, or the reverse, where the schema does not describe
 * it.
 */
function compareUnlike({ schema, before, after }: Pair): PartialComparison {
  const result: PartialComparison = { modified: {} };
  for (const [side, value] of [["removed", before] as const, ["added", after] as const]) {
    if (!isJsonObject(value)) continue;
    const { ".": _, ...children } = everyFieldOf(schema, value);
    if (Object.keys(children).length > 0) result[side] = children;
  }
  return result;
}

const kinds = ["added", "modified", "removed"] as const;

// oxlint-disable-next-line max-params -- called for every member and entry: an object each would cost
function attach(
  result: PartialComparison | undefined,
  element: PathElement,
  part: PartialComparison | undefined,
): PartialComparison | undefined {
  if (part === undefined) return result;
  const attached = result ?? {};
  for (const kind of kinds) {
    const set = part[kind];
    if (set !== undefined) (attached[kind] ??= {})[element] = set;
  }
  return attached;
}
