import { goJson } from "../../api/json/go-json.ts";
import type { ArraySchema } from "../../schema/schema.ts";
import { countValues } from "../../schema/value-limit.ts";
import { isJsonObject, memberOf } from "../../api/json/json-object.ts";

/**
 * One step of a field path, as in FieldsV1: `f:<name>` is a field, `k:<json>` the keys of a list entry, `v:<json>` the
 * value of a set entry, `i:<n>` an index. Equal elements are equal strings, also those of upstream's servers, because the JSON is
 * written as Go writes it.
 */
export type PathElement = string;

export const fieldElement = (name: string): PathElement => `f:${name}`;

/** No path can identify an entry of a list, so ownership of the object cannot be computed. */
export class UntrackableEntry extends Error {}

/** The path element of an entry in a `set` or `map` list. Throws UntrackableEntry. */
export function entryElement(list: ArraySchema, entry: unknown): PathElement {
  if (list.list === "set") {
    if (entry === null || typeof entry === "object") {
      throw new UntrackableEntry("a set's entry must be a scalar");
    }
    return `v:${goJson(entry)}`;
  }
  if (!isJsonObject(entry)) throw new UntrackableEntry("a list with keys may only have entries that are objects");
  const keys = list.mapKeys ?? [];
  const values: Record<string, unknown> = {};
  let found = 0;
  for (const key of [...keys].sort()) {
    const value = memberOf(entry, key) ?? defaultOf(list, key);
    if (value === undefined) continue;
    values[key] = value;
    found++;
  }
  if (found === 0) throw new UntrackableEntry(`an entry needs a value of its key: ${keys.join(", ")}`);
  return `k:${goJson(values)}`;
}

/** The default of a key field that an entry leaves out. A string field that is always present defaults to "", as in upstream's schema. */
function defaultOf({ items }: ArraySchema, key: string): unknown {
  const field = items.type === "object" && Object.hasOwn(items.fields, key) ? items.fields[key] : undefined;
  return field?.default ?? (field?.presence === "always" && field.schema.type === "string" ? "" : undefined);
}

/** The most JSON values in an element, including its object. No kind has a list with more keys. */
const maximumElementValues = 8;

/** The canonical form of an element that a client wrote. Undefined for an unknown type. Throws a SyntaxError for an invalid element. */
export function canonicalElement(element: string): PathElement | undefined {
  const content = element.slice(2);
  switch (element.slice(0, 2)) {
    case "f:":
      return element;
    case "v:":
      return `v:${goJson(parsedContent(content))}`;
    case "k:": {
      const keys = parsedContent(content);
      if (!isJsonObject(keys)) throw new SyntaxError("the keys of an entry must be an object");
      return `k:${goJson(Object.fromEntries(Object.entries(keys).sort(([left], [right]) => (left < right ? -1 : 1))))}`;
    }
    case "i:":
      if (!/^-?\d{1,9}$/.test(content)) throw new SyntaxError("an index must be a number");
      return element;
    default:
      if (element[1] !== ":") throw new SyntaxError("an element must begin with its type and a colon");
      return undefined;
  }
}

function parsedContent(json: string): unknown {
  if (countValues(json, maximumElementValues) > maximumElementValues) {
    throw new SyntaxError(`an element may have at most ${maximumElementValues} values`);
  }
  return JSON.parse(json);
}

/** Formats a path for messages: `.spec.containers[name="app"].image`. */
export const printPath = (path: readonly PathElement[]): string => path.map(printElement).join("");

function printElement(element: PathElement): string {
  const content = element.slice(2);
  switch (element.slice(0, 2)) {
    case "f:":
      return `.${content}`;
    case "v:":
      return `[=${JSON.stringify(JSON.parse(content))}]`;
    case "k:": {
      const keys = JSON.parse(content) as Record<string, unknown>; // every `k:` element was made from an object
      return `[${Object.entries(keys)
        .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
        .join(",")}]`;
    }
    default:
      return `[${content}]`;
  }
}
