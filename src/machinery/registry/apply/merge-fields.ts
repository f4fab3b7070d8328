import { memberSchemaOf } from "../../schema/schema.ts";
import type { ArraySchema, Schema } from "../../schema/schema.ts";
import { isJsonObject, memberOf, setMember } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import { shapeOf, asList } from "./field-shape.ts";
import { entryElement, fieldElement } from "./path-element.ts";
import type { PathElement } from "./path-element.ts";
import { below, isEmpty } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";

interface Merge {
  readonly schema: Schema | undefined;
  /** Undefined when absent. */
  readonly live: unknown;
  readonly applied: unknown;
}

/**
 * Merges an applied configuration into a live object: the configuration's leaves win (null too), objects are merged
 * member by member, and lists entry by entry in the configuration's order. Other entries of the live list keep their
 * position. Does not change its inputs. Throws UntrackableEntry.
 */
export function mergeFields({ schema, live, applied }: Merge): unknown {
  if (applied === undefined) return live;
  if (live === undefined) return applied;
  const shape = shapeOf(schema, applied);
  if (shape.type === "leaf") return applied;
  if (shape.type === "entries") {
    const [left, right] = [asList(live), asList(applied)];
    return left.length === 0 && right.length === 0
      ? applied
      : mergeEntries({ list: shape.list, live: left, applied: right });
  }
  const [left, right] = [isJsonObject(live) ? live : {}, isJsonObject(applied) ? applied : {}];
  const merged: JsonObject = { ...left };
  for (const name in right) {
    const value = right[name]; // own keys only
    setMember(
      merged,
      name,
      mergeFields({ schema: memberSchemaOf(schema, name), live: memberOf(left, name), applied: value }),
    );
  }
  return Object.keys(merged).length === 0 ? applied : merged;
}

interface ListMerge {
  readonly list: ArraySchema;
  readonly live: readonly unknown[];
  readonly applied: readonly unknown[];
}

interface Entry {
  readonly element: PathElement;
  readonly value: unknown;
}

const entriesOf = (list: ArraySchema, values: readonly unknown[]): Entry[] =>
  values.map((value) => ({ element: entryElement(list, value), value }));

/**
 * Merges two lists in upstream's order: the applied entries keep their order. An entry that only the live list has comes before
 * the applied entry that it preceded there, as long as the shared entries have the same order in both lists.
 */
function mergeEntries({ list, ...values }: ListMerge): unknown[] {
  const live = entriesOf(list, values.live);
  const applied = entriesOf(list, values.applied);
  const liveByElement = new Map<PathElement, unknown>();
  // An entry that occurs twice in the live list is replaced, not merged: it is unclear which of the two to merge with.
  for (const { element, value } of live) liveByElement.set(element, liveByElement.has(element) ? null : value);
  const appliedElements = new Set(applied.map(({ element }) => element));
  const shared = applied.filter(({ element }) => liveByElement.has(element)).map(({ element }) => element);
  const done = new Set<PathElement>();
  const merged: unknown[] = [];
  let nextShared = 0;
  let [liveIndex, appliedIndex] = [0, 0];
  const take = ({ element, value }: Entry): void => {
    done.add(element);
    if (shared[nextShared] === element) nextShared++;
    merged.push(mergeFields({ schema: list.items, live: liveByElement.get(element), applied: value }));
    appliedIndex++;
  };
  while (liveIndex < live.length || appliedIndex < applied.length) {
    const mine = live[liveIndex];
    const theirs = applied[appliedIndex];
    if (mine !== undefined && !appliedElements.has(mine.element)) {
      merged.push(mine.value);
      liveIndex++;
    } else if (mine !== undefined && mine.element === theirs?.element) {
      take(theirs);
      liveIndex++;
    } else if (mine !== undefined && theirs !== undefined && (shared[nextShared] ?? mine.element) !== mine.element) {
      liveIndex++;
    } else {
      if (mine !== undefined && done.has(mine.element)) liveIndex++;
      if (theirs !== undefined) take(theirs);
    }
  }
  return merged;
}

interface TypedValue {
  readonly schema: Schema | undefined;
  readonly value: unknown;
}

/**
 * Returns the value without the fields of the set. A container that becomes empty is replaced by null (as in upstream);
 * decoding drops it. Does not change its inputs. Throws UntrackableEntry.
 */
export function removeFields({ schema, value }: TypedValue, fields: FieldSet): unknown {
  if (isEmpty(fields)) return value;
  const shape = shapeOf(schema, value);
  if (shape.type === "leaf") return Array.isArray(value) || isJsonObject(value) ? null : value;
  if (shape.type === "entries") {
    if (!Array.isArray(value)) return null;
    const kept = value.flatMap((entry: unknown) => {
      const rest = withoutPart(
        { schema: shape.list.items, value: entry },
        below(fields, entryElement(shape.list, entry)),
      );
      return rest === undefined ? [] : [rest];
    });
    return kept.length === 0 ? null : kept;
  }
  if (!isJsonObject(value)) return null;
  const kept: JsonObject = {};
  for (const name in value) {
    const member = value[name]; // own keys only
    const rest = withoutPart(
      { schema: memberSchemaOf(schema, name), value: member },
      below(fields, fieldElement(name)),
    );
    if (rest !== undefined) setMember(kept, name, rest);
  }
  return Object.keys(kept).length === 0 ? null : kept;
}

/** The value without its part of the set. Undefined when the value itself is removed. */
function withoutPart(typed: TypedValue, part: ReturnType<typeof below>): unknown {
  if (part === undefined) return typed.value;
  return part.isMember ? undefined : removeFields(typed, part.children);
}
