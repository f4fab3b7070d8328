import { quote, comma, colon, openBracket, closeBracket, openBrace, closeBrace } from "../api/json/json-codes.ts";
import { endOfString, endOfValue } from "../schema/end-of-value.ts";

/** The places of managedFields: in an object, in the items of a list, and in the objects in the rows of a table. */
const places: ReadonlySet<string> = new Set(
  ["metadata", "items.metadata", "rows.object.metadata"].map((path) => `${path}.managedFields`),
);
/** The number of objects and lists around the deepest place: the table, its rows, a row, its object, and the metadata. */
const deepestPlace = 5;

/**
 * Removes the managedFields of its objects from the JSON of an object, a list or a table, without parsing it, because lists have megabytes.
 * `json` is valid, without blanks between its values.
 */
export function leaveManagedFieldsOut(json: string): string {
  /** The keys of the current value's path, one for each depth. Empty for items of lists. */
  const keys: string[] = [];
  let kept = "";
  let from = 0;
  for (let position = 0; position < json.length; position++) {
    const code = json.charCodeAt(position);
    if (code === openBrace || code === openBracket) keys.push("");
    else if (code === closeBrace || code === closeBracket) keys.pop();
    if (code !== quote) continue;
    const start = position;
    position = endOfString(json, position);
    if (json.charCodeAt(position + 1) !== colon) continue;
    const key = json.slice(start + 1, position);
    keys[keys.length - 1] = key;
    if (key !== "managedFields" || keys.length > deepestPlace) continue;
    if (!places.has(keys.filter((one) => one !== "").join("."))) continue;
    const end = endOfValue(json, position + 2);
    const isLast = json.charCodeAt(end) !== comma;
    const hasOneBefore = json.charCodeAt(start - 1) === comma;
    kept += json.slice(from, isLast && hasOneBefore ? start - 1 : start);
    from = isLast ? end : end + 1;
    position = from - 1;
  }
  return kept + json.slice(from);
}
