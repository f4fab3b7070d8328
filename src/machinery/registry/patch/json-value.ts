import { isJsonObject, memberOf } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";

/**
 * Whether two JSON values are equal, ignoring the order of members, and members that are undefined, which JSON leaves out.
 * It is recursive, so limit the depth of the values first.
 */
export function isSameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => isSameJson(item, right[index]))
    );
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  for (const key in left) if (!isSameJson(left[key], memberOf(right, key))) return false;
  for (const key in right) if (right[key] !== undefined && !Object.hasOwn(left, key)) return false;
  return true;
}

/** Whether the value is nested deeper than `levels`. Safe for any depth. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeeperThan(levels - 1, item));
  for (const key in value) {
    if (isDeeperThan(levels - 1, (value as JsonObject)[key])) return true; // an object that is not an array is a JsonObject
  }
  return false;
}

/** The number of all values inside of a value, at any depth: members of objects and items of lists. */
export function valueCount(value: unknown): number {
  let count = -1; // without the value itself
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    count += 1;
    if (typeof next === "object" && next !== null) for (const child of Object.values(next)) waiting.push(child);
  }
  return count;
}
