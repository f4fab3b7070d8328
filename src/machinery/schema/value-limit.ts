import { quote, comma, openBracket, closeBracket, openBrace, closeBrace } from "../api/json/json-codes.ts";
import { endOfString } from "./end-of-value.ts";
import { maximumJsonDepth } from "./json-reader.ts";
import { tooLarge } from "../api/api-error.ts";
import type { ApiError } from "../api/api-error.ts";

/**
 * Limits the values (members of objects, items of lists) in a body or an object. Each value costs up to ten microseconds of
 * processing (an apply costs most): three megabytes of the smallest possible values would block all requests for seconds,
 * and this many take a quarter of a second. Large real objects have a few thousand.
 */
export const maximumValues = 25_000;

/**
 * A JSON patch may have 10,000 operations (upstream's limit) of three members each, and a few values besides: its operations
 * are cheaper than an object's values.
 */
export const maximumPatchValues = 45_000;

export const tooManyValues = (maximum = maximumValues): ApiError =>
  tooLarge(`there are more than ${maximum} values in it: send fewer fields and shorter lists`);

/** Throws a 413 when a JSON text contains too many values. Does not check syntax or nesting: the reader does that. */
export function checkValueCount(text: string, maximum = maximumValues): void {
  // A value needs at least two characters, with the comma after it.
  if (text.length >= maximum * 2 && countValues(text, maximum) > maximum) throw tooManyValues(maximum);
}

/** The number of values in a JSON text. Stops counting above the maximum, and where a reader refuses the text. */
export const countValues = (text: string, maximum: number): number => structureOf(text, maximum).values;

/** Whether a JSON text is nested more deeply than a reader accepts. Throws a 413 for too many values. Does not check syntax. */
export function isTooDeep(text: string): boolean {
  const { values, depth } = structureOf(text, maximumValues);
  if (values > maximumValues) throw tooManyValues();
  return depth > maximumJsonDepth;
}

/** `depth`: the nesting where the counting stops. */
function structureOf(text: string, maximum: number): { readonly values: number; readonly depth: number } {
  let values = 0;
  let depth = 0;
  for (let position = 0; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (code === quote) position = endOfString(text, position);
    else if (code === comma) values += 1;
    else if (code === openBrace || code === openBracket) {
      values += 1;
      depth += 1;
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
    if (depth > maximumJsonDepth || values > maximum) break;
  }
  return { values, depth };
}
