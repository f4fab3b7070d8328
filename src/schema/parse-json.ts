import { JsonReader } from "./json-reader.ts";

export interface ParsedJson {
  readonly value: unknown;
  /** Paths of members that occur again in the same object, in document order, each once: `metadata.labels.d`. */
  readonly duplicateFields: string[];
}

/**
 * Reads JSON at JSON.parse speed and finds duplicate members besides: the last one wins, as in Go, but two objects are
 * merged. Throws a JsonSyntaxError worded as Go's encoding/json does. Nesting is bounded by `maximumJsonDepth`.
 */
export function parseJson(text: string): ParsedJson {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return new JsonReader(text).read();
  }
  const memberCount = countPlainMembers(text);
  if (memberCount === undefined || memberCount !== countMembers(value)) return new JsonReader(text).read();
  return { value, duplicateFields: [] };
}
