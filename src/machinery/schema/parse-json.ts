import { isUtf8 } from "node:buffer";
import { textOf } from "./go-utf8.ts";
import { checkValueCount, endOfString } from "./value-limit.ts";
import { isDigit, JsonReader, maximumJsonDepth } from "./json-reader.ts";
import type { RepeatedKey } from "./json-reader.ts";

export { JsonSyntaxError, maximumJsonDepth } from "./json-reader.ts";
export type { RepeatedKey } from "./json-reader.ts";

export interface ParsedJson {
  readonly value: unknown;
  /** Paths of members that occur again in the same object, in document order, each once: `metadata.labels.d`. */
  readonly duplicateFields: string[];
  /** The same keys where they are repeated, at most 100. */
  readonly repeatedKeys: readonly RepeatedKey[];
}

/**
 * Reads JSON at JSON.parse speed and finds duplicate members besides: the last one wins and objects are merged, as in Go.
 * Nesting is bounded by `maximumJsonDepth`, the number of values by `maximumValues` (413). Throws a JsonSyntaxError worded
 * as Go's encoding/json does.
 */
export function parseJson(text: string): ParsedJson {
  checkValueCount(text);
  const value = parsePlainJson(text);
  return value === undefined ? new JsonReader(text).read() : { value, duplicateFields: [], repeatedKeys: [] };
}

/** As `parseJson`. Each byte that is not UTF-8 in strings becomes U+FFFD, as in Go; a fault names the byte that is there. */
export function parseJsonBytes(bytes: Buffer): ParsedJson {
  if (isUtf8(bytes)) return parseJson(bytes.toString("utf8"));
  new JsonReader(bytes.toString("latin1"), { isLatin1: true }).read();
  return parseJson(textOf(bytes));
}

/** The value when the text is JSON without duplicate members, unusual numbers or deep nesting; else undefined. */
function parsePlainJson(text: string): unknown {
  const memberCount = countMembersOfText(text);
  if (memberCount === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    // Half of a surrogate pair can only be an escape.
    const reading: Reading = { members: 0, hasSurrogates: /\\u[dD][89a-fA-F]/.test(text), isWellFormed: true };
    read(value, reading);
    // Duplicate members are more in the text than in the value.
    return reading.members === memberCount && reading.isWellFormed ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The number of `:` outside strings, or undefined where the reader must look closer. */
function countMembersOfText(text: string): number | undefined {
  let members = 0;
  let depth = 0;
  for (let position = 0; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (code === quote) {
      position = endOfString(text, position);
      if (position < 0) return undefined;
    } else if (code === colon) members += 1;
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth > maximumJsonDepth) return undefined;
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
    else if (isDigit(code)) {
      const start = position;
      while (isDigit(text.charCodeAt(position + 1))) position += 1;
      const next = text.charCodeAt(position + 1) | 0x20; // lower case
      if (position - start >= 15 || next === period || next === lowerE) return undefined;
    }
  }
  return members;
}

const quote = 0x22;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const period = 0x2e;
const lowerE = 0x65;

/** What is found out about a parsed value. */
interface Reading {
  members: number;
  readonly hasSurrogates: boolean;
  isWellFormed: boolean;
}

function read(value: unknown, reading: Reading): void {
  if (typeof value === "string") {
    if (reading.hasSurrogates) reading.isWellFormed &&= value.isWellFormed();
  } else if (Array.isArray(value)) {
    for (const item of value) read(item, reading);
  } else if (typeof value === "object" && value !== null) {
    for (const key in value) {
      reading.members += 1;
      if (reading.hasSurrogates) reading.isWellFormed &&= key.isWellFormed();
      read((value as Record<string, unknown>)[key], reading); // own keys only
    }
  }
}
