import { isJsonObject, memberOf } from "./json-value.ts";

/** More of a value says no more to who sent it. */
const maximumLength = 1024;

/** A JSON value as Go's `%v` prints it, as upstream shows a strategic merge patch: `map[metadata:map[labels:map[a:b]]]`. */
export function goValue(value: unknown): string {
  const text = printed(value);
  return text.length <= maximumLength ? text : `${text.slice(0, maximumLength)}...`;
}

function printed(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(printed).join(" ")}]`;
  if (!isJsonObject(value)) return typeof value === "string" ? value : JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${key}:${printed(memberOf(value, key))}`);
  return `map[${members.join(" ")}]`;
}
