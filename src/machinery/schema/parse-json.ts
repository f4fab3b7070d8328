import { quote, colon, openBracket, closeBracket, openBrace, closeBrace } from "../api/json/json-codes.ts";
import { isUtf8 } from "node:buffer";
import { isJsonObject } from "../api/json/json-object.ts";
import { runToEnd } from "../api/run-to-end.ts";
import { decodeUtf8 } from "./decode-utf8.ts";
import { endOfString } from "./end-of-value.ts";
import { checkValueCount, maximumValues } from "./value-limit.ts";
import { isDigit, JsonReader, JsonSyntaxError, maximumJsonDepth } from "./json-reader.ts";
import type { JsonReading, MemberPlace, RepeatedKey } from "./json-reader.ts";

export interface ParsedJson {
  readonly value: unknown;
  /** The members that occur more than once in an object, in document order, each listed once. */
  readonly duplicateFields: MemberPlace[];
  /** Each repetition of such a key with its line, at most 100. */
  readonly repeatedKeys: readonly RepeatedKey[];
}

interface JsonParsing extends Pick<JsonReading, "replacesRepeated"> {
  readonly maximumValues?: number;
}

/**
 * Parses JSON as fast as JSON.parse and also finds duplicate members. As in Go, the last one wins and objects are
 * merged. Limits: nesting to `maximumJsonDepth`, the number of values (413) as in `checkValueCount`.
 * Throws a JsonSyntaxError in the words of Go's encoding/json.
 */
export const parseJson = (text: string, parsing?: JsonParsing): ParsedJson => runToEnd(parseJsonInSteps(text, parsing));

/** Like `parseJson`. Yields between its steps. */
export function* parseJsonInSteps(
  text: string,
  { maximumValues: maximum, ...reading }: JsonParsing = {},
): Generator<undefined, ParsedJson> {
  checkValueCount(text, maximum);
  const value = yield* parsePlainJson(text);
  if (value !== undefined) return { value, duplicateFields: [], repeatedKeys: [] };
  yield;
  return yield* new JsonReader(text, reading).read();
}

/**
 * Like `parseJson`. As in Go, each invalid UTF-8 byte in a string becomes U+FFFD. An error names the original byte.
 */
export const parseJsonBytes = (bytes: Buffer): ParsedJson => runToEnd(parseJsonBytesInSteps(bytes, decodeUtf8(bytes)));

/** Like `parseJsonBytes`, given the `text` that `decodeUtf8` returns for the bytes. Yields between its steps. */
export function* parseJsonBytesInSteps(bytes: Buffer, text: string): Generator<undefined, ParsedJson> {
  try {
    return yield* parseJsonInSteps(text);
  } catch (error) {
    // Only a refused text is read a second time, to find the byte that the message names.
    if (error instanceof JsonSyntaxError && !isUtf8(bytes)) {
      yield* new JsonReader(bytes.toString("latin1"), { isLatin1: true }).read();
    }
    throw error;
  }
}

/**
 * What `parseJson` would return for the JSON text of a value. Mostly that is the value itself, and no text is made. Neither is ever
 * changed.
 */
export const parsedValue = (value: object): ParsedJson =>
  isPlainJson(value, { left: maximumValues })
    ? { value, duplicateFields: [], repeatedKeys: [] }
    : parseJson(JSON.stringify(value));

/** Whether a value stays the same when it becomes JSON text and is parsed again. */
function isPlainJson(value: unknown, values: { left: number }): boolean {
  values.left -= 1;
  if (values.left < 0) return false;
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value === "number") return Number.isSafeInteger(value) && !Object.is(value, -0);
  if (typeof value === "boolean" || value === null) return true;
  if (typeof value !== "object") return false;
  if (Array.isArray(value)) {
    for (const item of value) if (!isPlainJson(item, values)) return false;
    return true;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const key in value) {
    if (!key.isWellFormed() || !isPlainJson((value as Record<string, unknown>)[key], values)) return false; // own keys only
  }
  return true;
}

/**
 * Returns the value of JSON without duplicate members, unusual numbers or deep nesting. Undefined for anything else:
 * then the slow reader decides.
 */
function* parsePlainJson(text: string): Generator<undefined, unknown> {
  const memberCount = countMembersOfText(text);
  if (memberCount === undefined) return undefined;
  yield;
  try {
    const value: unknown = JSON.parse(text);
    yield;
    const hasEscapes = text.includes("\\");
    // Well-formed text can contain half of a surrogate pair only as an escape.
    const hasSurrogates = hasEscapes && /\\u[dD][89a-fA-F]/.test(text);
    const findings: Findings = { members: 0, hasEscapes, hasSurrogates, isCertain: true };
    read(value, findings);
    // With duplicate members, the text has more members than the value.
    return findings.members === memberCount && findings.isCertain ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The number of `:` outside strings. Undefined when only the slow reader can decide. */
function countMembersOfText(text: string): number | undefined {
  let members = 0;
  let depth = 0;
  for (let position = 0; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (code === quote) position = endOfString(text, position);
    else if (code === colon) members += 1;
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth > maximumJsonDepth) return undefined;
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
    else if (isDigit(code)) {
      const start = position;
      while (isDigit(text.charCodeAt(position + 1))) {
        position += 1;
        if (position - start >= 15) return undefined;
      }
      const next = text.charCodeAt(position + 1) | 0x20; // lower case
      if (next === period || next === lowerE) return undefined;
    }
  }
  return members;
}

const period = 0x2e;
const lowerE = 0x65;

/**
 * Like JSON.parse, for a text whose nesting is bounded, such as the server's own encoding of an object. Throws a SyntaxError, or in rare
 * cases a JsonSyntaxError.
 */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!text.includes("\\") || !hasMisreadKey(value)) return value;
  return runToEnd(new JsonReader(text, { replacesRepeated: true }).read()).value;
}

/**
 * Whether JSON.parse may have read another key instead of this one. V8 14 compares the text of a key with the keys of earlier objects
 * before it resolves escapes. After an object with the key `k:{\\"name\\":`, it mistakes the key `k:{"name":"a"}` of the next object for
 * that key, which has as many characters as the other's text. So the sender of the first object could change what is read for others. Such
 * a key always has a backslash.
 */
const mayBeMisread = (key: string): boolean => key.includes("\\");

function hasMisreadKey(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasMisreadKey);
  if (!isJsonObject(value)) return false;
  for (const key in value) if (mayBeMisread(key) || hasMisreadKey(value[key])) return true;
  return false;
}

/** Findings about a parsed value. */
interface Findings {
  members: number;
  readonly hasEscapes: boolean;
  readonly hasSurrogates: boolean;
  /** False when a string is not well-formed, or when a key may differ from the key in the text (see `mayBeMisread`). */
  isCertain: boolean;
}

function read(value: unknown, findings: Findings): void {
  if (typeof value === "string") {
    if (findings.hasSurrogates) findings.isCertain &&= value.isWellFormed();
  } else if (Array.isArray(value)) {
    for (const item of value) read(item, findings);
  } else if (typeof value === "object" && value !== null) {
    for (const key in value) {
      findings.members += 1;
      if (findings.hasEscapes) findings.isCertain &&= !mayBeMisread(key) && key.isWellFormed();
      read((value as Record<string, unknown>)[key], findings); // own keys only
    }
  }
}
