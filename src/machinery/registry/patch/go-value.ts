import { isJsonObject, memberOf } from "../../api/json-object.ts";

/** The sender of a value knows it: more text would not help. */
const maximumLength = 1024;

/**
 * Formats a JSON value like Go's `%v`, as upstream shows a strategic merge patch: `map[metadata:map[labels:map[a:b]]]`.
 */
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
