import { isJsonObject } from "../../api/json-object.ts";
import { setMember } from "./json-value.ts";
import type { JsonObject } from "../../api/json-object.ts";

/** The member that says how to treat the object that contains it. */
export const patchDirective = "$patch";

export const hasDirective = (value: unknown): boolean => isJsonObject(value) && Object.hasOwn(value, patchDirective);

/**
 * Prepares a part of a patch that has nothing to merge with for storage: removes nulls from objects and parts with a
 * `$patch` directive. Undefined when nothing is left.
 */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return listWithoutDirectives(value);
  if (!isJsonObject(value)) return value;
  if (hasDirective(value)) return undefined;
  const kept: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    const inner = member === null ? undefined : withoutDirectives(member);
    if (inner !== undefined) setMember(kept, key, inner);
  }
  return kept;
}

export const listWithoutDirectives = (list: readonly unknown[]): unknown[] =>
  list.filter((item) => !hasDirective(item)).map(withoutDirectives);
