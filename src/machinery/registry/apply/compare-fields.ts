import { memberSchemaOf } from "../../schema/schema.ts";
import type { ArraySchema, Schema } from "../../schema/schema.ts";
import { isJsonObject, jsonFields, memberOf } from "../../api/json/json-object.ts";
import { isSameJson } from "../patch/json-value.ts";
import { emptySet } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { FieldReader } from "./fields-of.ts";
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

interface Compared {
  readonly schema: Schema | undefined;
  /** Undefined when absent. */
  readonly before: unknown;
  readonly after: unknown;
}

interface Pair extends Compared {
  /** Reads and counts the added fields. */
  readonly added: FieldReader;
}

interface ComparedObjects extends Compared {
  /** The most fields that may be added. Default: any number. */
  readonly maximumAdded?: number;
}

/** Reads removed fields. Their number is not limited, because they are not recorded. */
const removed = new FieldReader(Infinity);

/** The comparison of a part of an object. An absent set is empty; {} stands for the part itself. */
type PartialComparison = { -readonly [K in keyof Comparison]?: FieldSet };

/**
 * Compares two objects for ownership: the order of `set` and `map` lists does not matter, duplicates in them are
 * compared as one value, and a value that is owned as a whole is compared as a whole. Throws UntrackableEntry, and a 413 when
 * too many fields are added.
 */
export const compareFields = ({ maximumAdded = Infinity, ...compared }: ComparedObjects): Comparison => ({
  ...sameFields,
  ...comparePair({ ...compared, added: new FieldReader(maximumAdded) }),
});

function comparePair({ schema, before, after, added }: Pair): PartialComparison | undefined {
  if (before === after) return undefined;
  if (before === undefined) return { added: added.allPathsOf(schema, after) };
  if (after === undefined) return { removed: removed.allPathsOf(schema, before) };
  const shape = shapeOf(schema, after);
  if (shape.type === "entries") return compareEntries({ list: shape.list, before, after, added });
  if (shapeOf(schema, before).type !== shape.type) return compareUnlike({ schema, before, after, added });
  if (shape.type === "members") return compareMembers({ schema, before, after, added });
  return isSameJson(before, after) ? undefined : { modified: {} };
}

function isEmptyContainer(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in jsonFields(value)) return false;
  return true;
}

/** Compares two containers without members. They count as leaves, so that null and empty differ. */
const compareEmpty = (before: unknown, after: unknown): PartialComparison | undefined =>
  isSameJson(before, after) ? undefined : { modified: {} };

function compareMembers({ schema, before, after, added }: Pair): PartialComparison | undefined {
  if (isEmptyContainer(before) && isEmptyContainer(after)) return compareEmpty(before, after);
  const [left, right] = [jsonFields(before), jsonFields(after)];
  let result: PartialComparison | undefined;
  for (const name in right) {
    const pair = { schema: memberSchemaOf(schema, name), before: memberOf(left, name), after: right[name], added };
    result = attach(result, fieldElement(name), comparePair(pair));
  }
  for (const name in left) {
    if (Object.hasOwn(right, name)) continue;
    result = attach(result, fieldElement(name), {
      removed: removed.allPathsOf(memberSchemaOf(schema, name), left[name]),
    });
  }
  return result;
}

function compareEntries({
  list,
  before,
  after,
  added,
}: Omit<Pair, "schema"> & { readonly list: ArraySchema }): PartialComparison | undefined {
  if (isEmptyContainer(before) && isEmptyContainer(after)) return compareEmpty(before, after);
  const [left, right] = [entriesByElement(list, asList(before)), entriesByElement(list, asList(after))];
  let result: PartialComparison | undefined;
  for (const [element, entries] of right) {
    result = attach(
      result,
      element,
      compareDuplicates(list.items, { before: left.get(element) ?? [], after: entries, added }),
    );
  }
  for (const [element, entries] of left) {
    if (!right.has(element))
      result = attach(result, element, compareDuplicates(list.items, { before: entries, after: [], added }));
  }
  return result;
}

interface DuplicatePair extends Pick<Pair, "added"> {
  readonly before: readonly unknown[];
  readonly after: readonly unknown[];
}

/**
 * Compares the entries of one element: normally at most one on each side. Duplicates are compared together as one
 * value.
 */
function compareDuplicates(schema: Schema, { before, after, added }: DuplicatePair): PartialComparison | undefined {
  if (before.length <= 1 && after.length <= 1)
    return comparePair({ schema, before: before[0], after: after[0], added });
  if (before.length > 1 && after.length > 1) return isSameJson(before, after) ? undefined : { modified: {} };
  if (before.length > 1) {
    return { removed: {}, ...(after.length > 0 && { added: added.allPathsOf(schema, after[0]) }) };
  }
  return { added: {}, ...(before.length > 0 && { removed: removed.allPathsOf(schema, before[0]) }) };
}

/**
 * Compares a value that the schema does not describe, and that changed from an object to another type, or the reverse.
 */
function compareUnlike({ schema, before, after, added }: Pair): PartialComparison {
  const result: PartialComparison = { modified: {} };
  for (const [side, value, reader] of [["removed", before, removed] as const, ["added", after, added] as const]) {
    if (!isJsonObject(value)) continue;
    const { ".": _, ...children } = reader.allPathsOf(schema, value);
    if (Object.keys(children).length > 0) result[side] = children;
  }
  return result;
}

// oxlint-disable-next-line max-params -- called for every member and entry: an object each would cost
function attach(
  result: PartialComparison | undefined,
  element: PathElement,
  part: PartialComparison | undefined,
): PartialComparison | undefined {
  if (part === undefined) return result;
  const attached = result ?? {};
  if (part.added !== undefined) (attached.added ??= {})[element] = part.added;
  if (part.modified !== undefined) (attached.modified ??= {})[element] = part.modified;
  if (part.removed !== undefined) (attached.removed ??= {})[element] = part.removed;
  return attached;
}
