import { quote, backslash } from "../api/json/json-codes.ts";
import { maximumShownLength, shortened } from "../api/text/format-value.ts";
import { isJsonObject, setMember } from "../api/json/json-object.ts";
import { endOfString } from "./end-of-value.ts";

/** The text is not JSON. The message uses the words of Go's encoding/json. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}

/** Limits the nesting of arrays and objects. No object needs this much, and the call stack can hold far more. */
export const maximumJsonDepth = 1000;

/** How many unknown and repeated members strict reading names, as upstream. */
export const maximumStrictFaults = 100;

/** A key that the same object already contains, as strict YAML reading reports it. */
export interface RepeatedKey {
  readonly key: string;
  /** Starts at 1. */
  readonly line: number;
}

/** How many values are read in a step: about a millisecond of work. */
const valuesOfStep = 1000;

type Container = Record<string, unknown> | unknown[];

const numberLiterals = new WeakMap<object, Map<string, string>>();

/**
 * The literal of a number that was not a plain integer (`3600.0`, `36e2`, more than 15 digits), as the reader found it.
 * Go refuses such literals for integers, and a JavaScript number no longer shows the difference.
 */
export const numberLiteralAt = (container: object, key: string | number): string | undefined =>
  numberLiterals.get(container)?.get(String(key));

/**
 * Records the literal of a number that a patch puts into a container, in place of the replaced value's literal. Undefined: no literal is
 * known.
 */
// oxlint-disable-next-line max-params -- as setMember
export function setNumberLiteral(container: object, key: string, literal: string | undefined): void {
  if (literal !== undefined) literalsOf(container).set(key, literal);
  else numberLiterals.get(container)?.delete(key);
}

/** Copies the recorded literals of an object's numbers to a copy of the object. */
export function copyNumberLiterals(object: object, copy: object): void {
  const literals = numberLiterals.get(object);
  if (literals !== undefined) numberLiterals.set(copy, new Map(literals));
}

/** A member that strict decoding refuses. */
export interface MemberPlace {
  /** `metadata.labels.d` */
  readonly path: string;
  /** The offset of its key in the text. 0 in a text without repeated members: there the order of the value is the order of the text. */
  readonly position: number;
}

const memberPositions = new WeakMap<object, Map<string, number>>();

/** The offset in the text where a member of an object first occurs; see `MemberPlace`. */
export const positionOfMember = (object: object, key: string): number => memberPositions.get(object)?.get(key) ?? 0;

const repeatedMembers = new WeakMap<object, Set<string>>();

/** Whether the text of an object has a member more than once. A copy of the object has it once. */
export const isRepeatedMember = (object: object, key: string): boolean =>
  repeatedMembers.get(object)?.has(key) ?? false;

function noteRepeatedMember(object: object, key: string): void {
  const keys = repeatedMembers.get(object) ?? new Set<string>();
  repeatedMembers.set(object, keys.add(key));
}

const valuesBeforeNull = new WeakMap<object, Map<string, unknown>>();

/**
 * The value of a member that the text of its object repeats as null. Go's decoder leaves that value in a field that cannot be null. Undefined:
 * there is none.
 */
export const valueBeforeNull = (object: object, key: string): unknown => valuesBeforeNull.get(object)?.get(key);

function noteValueBeforeNull(object: Record<string, unknown>, key: string): void {
  const value = Object.hasOwn(object, key) ? object[key] : null;
  if (value === null) return;
  const values = valuesBeforeNull.get(object) ?? new Map<string, unknown>();
  valuesBeforeNull.set(object, values.set(key, value));
}

export interface JsonReading {
  /** Text that is not UTF-8 is read as Latin-1, one character per byte, so that a fault can name the byte. */
  readonly isLatin1?: boolean;
  /**
   * Whether the object of a repeated member replaces the earlier object, as in Go's maps. Otherwise the two are merged, as in Go's structs.
   */
  readonly replacesRepeated?: boolean;
}

/** Reads JSON and reports what JSON.parse cannot: Go's error messages, duplicate members, number literals. */
export class JsonReader {
  readonly #text: string;
  #position = 0;
  #values = 0;
  readonly #path: (string | number)[] = [];
  /** The positions of the members of each object that was read. */
  readonly #positions = new Map<object, Map<string, number>>();
  /** Positions by path. */
  readonly #duplicateFields = new Map<string, number>();
  readonly #repeatedKeys: RepeatedKey[] = [];
  #line = 1;
  #lineStart = 0;

  readonly #isLatin1: boolean;
  readonly #replacesRepeated: boolean;

  constructor(text: string, { isLatin1 = false, replacesRepeated = false }: JsonReading = {}) {
    this.#text = text;
    this.#isLatin1 = isLatin1;
    this.#replacesRepeated = replacesRepeated;
  }

  /** Yields after every thousand values. */
  *read(): Generator<undefined, { value: unknown; duplicateFields: MemberPlace[]; repeatedKeys: RepeatedKey[] }> {
    const value = yield* this.#readValue([], 0);
    this.#skipSpace();
    if (this.#position < this.#text.length) throw this.#fault("after top-level value");
    if (this.#duplicateFields.size > 0) {
      for (const [object, positions] of this.#positions) memberPositions.set(object, positions);
    }
    const duplicateFields = Array.from(this.#duplicateFields, ([path, position]) => ({ path, position }));
    return { value, duplicateFields, repeatedKeys: this.#repeatedKeys };
  }

  *#readValue(container: Container, key: string | number): Generator<undefined, unknown> {
    this.#skipSpaceBeforeToken();
    const nested = this.#nestedValue(container, key);
    return nested === undefined ? this.#readScalar(container, key) : yield* nested;
  }

  /** The steps that read the object or list that begins here. Undefined when a scalar begins here, which needs no steps. */
  #nestedValue(container: Container, key: string | number): Generator<undefined, Container> | undefined {
    const opening = this.#character();
    if (opening !== "{" && opening !== "[") return undefined;
    if (this.#path.length === maximumJsonDepth) throw this.#fault("exceeded max depth");
    this.#position += 1;
    if (opening === "[") return this.#readArray();
    return this.#readObject(this.#replacesRepeated ? {} : previousObject(container, key));
  }

  #readScalar(container: Container, key: string | number): unknown {
    switch (this.#character()) {
      case '"':
        return this.#readString();
      case "t":
        return this.#readWord("true", true);
      case "f":
        return this.#readWord("false", false);
      case "n":
        return this.#readWord("null", null);
      default:
        return this.#readNumber(container, key);
    }
  }

  /** Whether it is time to yield. */
  #isStepOver(): boolean {
    this.#values += 1;
    return this.#values % valuesOfStep === 0;
  }

  *#readObject(object: Record<string, unknown>): Generator<undefined, Container> {
    const earlier = this.#positions.get(object);
    const positions = earlier ?? new Map<string, number>();
    if (earlier === undefined) this.#positions.set(object, positions);
    // The earlier object, into which this object is merged, may have members that this object does not repeat.
    const merged = earlier && new Set<string>();
    this.#skipSpaceBeforeToken();
    if (this.#take("}")) return object;
    for (;;) {
      this.#skipSpaceBeforeToken();
      if (this.#character() !== '"') throw this.#fault("looking for beginning of object key string");
      const start = this.#position;
      const key = this.#readString();
      this.#skipSpaceBeforeToken();
      if (!this.#take(":")) throw this.#fault("after object key");
      this.#path.push(key);
      const isRepeated = (merged ?? positions).has(key);
      if (isRepeated) noteRepeatedMember(object, key);
      const repeated = isRepeated ? this.#repeatedKey(key, start) : undefined;
      merged?.add(key);
      if (!positions.has(key)) positions.set(key, start);
      this.#skipSpaceBeforeToken();
      const nested = this.#nestedValue(object, key);
      const value = nested === undefined ? this.#readScalar(object, key) : yield* nested;
      if (value === null && !this.#replacesRepeated) noteValueBeforeNull(object, key);
      setMember(object, key, value);
      if (repeated !== undefined && this.#repeatedKeys.length < maximumStrictFaults) this.#repeatedKeys.push(repeated);
      if (this.#isStepOver()) yield;
      this.#path.pop();
      this.#skipSpaceBeforeToken();
      if (this.#take("}")) return object;
      if (!this.#take(",")) throw this.#fault("after object key:value pair");
    }
  }

  /**
   * Records a repeated member, and returns its key. The caller reports the key after its value: upstream reports the keys that are repeated
   * in the value first.
   */
  #repeatedKey(key: string, start: number): RepeatedKey | undefined {
    if (this.#duplicateFields.size < maximumStrictFaults) {
      const path = this.#pathText();
      if (!this.#duplicateFields.has(path)) this.#duplicateFields.set(path, start);
    }
    if (this.#repeatedKeys.length === maximumStrictFaults) return undefined;
    return { key: shortened(key), line: this.#lineAt(start) };
  }

  /** The path of the current value, as faults show it. */
  #pathText(): string {
    let text = "";
    for (const [level, element] of this.#path.entries()) {
      if (text.length > maximumShownLength) break;
      text += typeof element === "number" ? `[${element}]` : shortened(level === 0 ? element : `.${element}`);
    }
    return shortened(text);
  }

  /** Positions only grow, so each line feed is counted once. */
  #lineAt(position: number): number {
    for (;;) {
      const next = this.#text.indexOf("\n", this.#lineStart);
      if (next < 0 || next >= position) return this.#line;
      this.#line += 1;
      this.#lineStart = next + 1;
    }
  }

  *#readArray(): Generator<undefined, Container> {
    const array: unknown[] = [];
    this.#skipSpaceBeforeToken();
    if (this.#take("]")) return array;
    for (;;) {
      this.#path.push(array.length);
      this.#skipSpaceBeforeToken();
      const nested = this.#nestedValue(array, array.length);
      array.push(nested === undefined ? this.#readScalar(array, array.length) : yield* nested);
      if (this.#isStepOver()) yield;
      this.#path.pop();
      this.#skipSpaceBeforeToken();
      if (this.#take("]")) return array;
      if (!this.#take(",")) throw this.#fault("after array element");
    }
  }

  #readString(): string {
    const text = this.#text;
    const start = this.#position;
    const end = endOfString(text, start) + 1;
    try {
      const value = JSON.parse(text.slice(start, end)) as string; // a literal between quotes
      this.#position = end;
      // Like Go: half of a surrogate pair is replaced, because strict readers refuse text that contains one.
      return value.toWellFormed();
    } catch {
      throw this.#faultInString();
    }
  }

  #faultInString(): JsonSyntaxError {
    const text = this.#text;
    let at = this.#position + 1;
    for (let code = text.charCodeAt(at); code !== quote; code = text.charCodeAt(at)) {
      if (code === backslash) at = this.#afterEscape(at);
      else if (code >= space) at += 1;
      else {
        this.#position = at;
        break;
      }
    }
    return at < text.length ? this.#fault("in string literal") : unexpectedEnd();
  }

  /** The position behind an escape that begins at a backslash. */
  #afterEscape(start: number): number {
    this.#position = start + 1;
    const escape = this.#character();
    if (!'bfnrt\\/"u'.includes(escape)) throw this.#fault("in string escape code");
    const end = start + (escape === "u" ? 6 : 2);
    for (let at = start + 2; at < end; at += 1) {
      if (isHexDigit(this.#text.charCodeAt(at))) continue;
      this.#position = at;
      throw this.#fault("in \\u hexadecimal character escape");
    }
    return end;
  }

  #readWord<T>(word: string, value: T): T {
    for (const character of word) {
      if (!this.#take(character)) throw this.#fault(`in literal ${word} (expecting '${character}')`);
    }
    return value;
  }

  #readNumber(container: Container, key: string | number): number {
    const start = this.#position;
    const isNegative = this.#take("-");
    if (!this.#take("0") && !this.#takeDigits()) {
      throw this.#fault(isNegative ? "in numeric literal" : "looking for beginning of value");
    }
    if (this.#take(".") && !this.#takeDigits()) throw this.#fault("after decimal point in numeric literal");
    if (this.#take("e") || this.#take("E")) {
      if (!this.#take("+")) this.#take("-");
      if (!this.#takeDigits()) throw this.#fault("in exponent of numeric literal");
    }
    const literal = this.#text.slice(start, this.#position);
    if (!/^-?\d{1,15}$/.test(literal)) literalsOf(container).set(String(key), literal);
    return Number(literal);
  }

  #takeDigits(): boolean {
    const start = this.#position;
    this.#passOver(digits);
    return this.#position > start;
  }

  #take(character: string): boolean {
    if (this.#text[this.#position] !== character) return false;
    this.#position += 1;
    return true;
  }

  /** The current character. At the end of the text it is a space, as in Go's message for a text that ends inside a literal. */
  #character(): string {
    return this.#text[this.#position] ?? " ";
  }

  #skipSpace(): void {
    if (isSpace(this.#text.charCodeAt(this.#position))) this.#passOver(spaces);
  }

  /** Moves behind the characters that a pattern matches. They may be megabytes, for which a loop would take several times as long. */
  #passOver(pattern: RegExp): void {
    pattern.lastIndex = this.#position;
    pattern.test(this.#text);
    this.#position = pattern.lastIndex;
  }

  #skipSpaceBeforeToken(): void {
    this.#skipSpace();
    if (this.#position >= this.#text.length) throw unexpectedEnd();
  }

  #fault(context: string): JsonSyntaxError {
    const character = String.fromCodePoint(this.#text.codePointAt(this.#position) ?? 0x20);
    const byte = Buffer.from(character, this.#isLatin1 ? "latin1" : "utf8")[0] ?? 0x20;
    return new JsonSyntaxError(`invalid character ${quoteByte(byte)} ${context}`);
  }
}

const unexpectedEnd = (): JsonSyntaxError => new JsonSyntaxError("unexpected end of JSON input");

const space = 0x20;

const digits = /[0-9]*/y;
const spaces = /[ \n\r\t]*/y;

const isSpace = (code: number): boolean => code === space || code === 0x0a || code === 0x0d || code === 0x09;

const isHexDigit = (code: number): boolean => isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);

export const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** The existing object that a duplicate member is merged into, or a new one. */
function previousObject(container: Container, key: string | number): Record<string, unknown> {
  // A list has its indexes as keys.
  const previous = Object.hasOwn(container, key) ? (container as Record<string, unknown>)[key] : undefined;
  return isJsonObject(previous) ? previous : {};
}

function literalsOf(container: object): Map<string, string> {
  const literals = numberLiterals.get(container) ?? new Map<string, string>();
  numberLiterals.set(container, literals);
  return literals;
}

const controlEscapes = new Map([
  [0x07, "\\a"],
  [0x08, "\\b"],
  [0x09, "\\t"],
  [0x0a, "\\n"],
  [0x0b, "\\v"],
  [0x0c, "\\f"],
  [0x0d, "\\r"],
  [0x27, "\\'"],
  [0x5c, "\\\\"],
]);

/** Go reads bytes: it quotes the first byte of a character as Latin-1. */
function quoteByte(byte: number): string {
  const hex = byte.toString(16).padStart(2, "0");
  const isUnprintable = byte < 0x20 || (byte >= 0x7f && byte <= 0xa0) || byte === 0xad;
  const escaped = controlEscapes.get(byte) ?? (byte < 0x80 ? `\\x${hex}` : `\\u00${hex}`);
  return `'${controlEscapes.has(byte) || isUnprintable ? escaped : String.fromCharCode(byte)}'`;
}
