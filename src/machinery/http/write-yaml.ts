import { isDigit } from "../schema/json-reader.ts";
import { isOfAnotherType } from "./yaml-plain-types.ts";

/** Upstream's library breaks lines at the first space behind this column. */
const lineWidth = 80;
/** Longer keys are written after a question mark, in bytes. */
const longestSimpleKey = 128;

/**
 * Formats a JSON value as YAML, as upstream's library (go.yaml.in/yaml/v2) does: sorted keys, lists not indented, strings
 * quoted only where they must be.
 */
export function writeYaml(value: unknown): string {
  if (!isContainer(value)) return ended(scalar(value, { column: 0, indent: 2 }));
  return block(value, lineAt(""));
}

/**
 * Writes an object as `writeYaml` does, in parts that are made one by one: each item of a list, or of another iterable, is a
 * part. The names of the object's members must be short.
 */
export function* yamlParts(object: object): Generator<string> {
  for (const [key, value] of sortedMembers(object)) {
    if (!isIterable(value)) {
      yield writeYaml({ [key]: value });
      continue;
    }
    let isEmpty = true;
    for (const item of value) {
      yield writeYaml(isEmpty ? { [key]: [item] } : [item]);
      isEmpty = false;
    }
    if (isEmpty) yield writeYaml({ [key]: [] });
  }
}

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.iterator in value;

/** Those without a value must not take part: upstream's order has circles, so they would change the order of the others. */
const sortedMembers = (object: object): [key: string, value: unknown][] =>
  Object.entries(object)
    .filter(([, value]) => value !== undefined)
    .sort(([left], [right]) => compareKeys(left, right));

type Container = readonly unknown[] | Readonly<Record<string, unknown>>;

/** Whether the value takes lines of its own. Empty lists and objects do not. */
function isContainer(value: unknown): value is Container {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.length > 0;
  for (const key in value) if ((value as Readonly<Record<string, unknown>>)[key] !== undefined) return true;
  return false;
}

const isList = (value: Container): value is readonly unknown[] => Array.isArray(value);

/** The lines of a list or an object. Each begins with the indent, but the first with `start`, and ends with a line break. */
function block(value: Container, { indent, start }: Line): string {
  let lines = "";
  let begin = start;
  if (isList(value)) {
    for (const item of value) {
      lines += inlined(item, { indent, start: `${begin}-` });
      begin = indent;
    }
    return lines;
  }
  for (const [key, member] of sortedMembers(value)) {
    const isSimple = Buffer.byteLength(key) <= longestSimpleKey && !breakPattern.test(key);
    const written = scalar(key, { column: 0, indent: 0, isKey: isSimple });
    if (!isSimple) lines += `${begin}? ${ended(written)}${inlined(member, { indent, start: `${indent}:` })}`;
    else if (!isContainer(member)) lines += scalarLine(member, { indent, start: `${begin}${written}:` });
    else lines += `${begin}${written}:\n${block(member, lineAt(isList(member) ? indent : `${indent}  `))}`;
    begin = indent;
  }
  return lines;
}

interface Line {
  readonly indent: string;
  /** What the first line begins with: the indent, or keys and indicators. */
  readonly start: string;
}

const lineAt = (indent: string): Line => ({ indent, start: indent });

/** A value that begins in the line of its indicator. */
function inlined(value: unknown, { indent, start }: Line): string {
  if (!isContainer(value)) return scalarLine(value, { indent, start });
  return block(value, { indent: `${indent}  `, start: `${start} ` });
}

/** A scalar behind its indicator. */
const scalarLine = (value: unknown, { indent, start }: Line): string =>
  ended(`${start} ${scalar(value, { column: start.length + 1, indent: indent.length + 2 })}`);

const ended = (text: string): string => (text.endsWith("\n") ? text : `${text}\n`);

interface Place {
  /** The column of the first character. */
  readonly column: number;
  /** The indentation of the lines that follow. */
  readonly indent: number;
  readonly isKey?: boolean;
  readonly isQuoted?: boolean;
}

function scalar(value: unknown, place: Place): string {
  if (typeof value === "string") return text(value, place);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  return Array.isArray(value) ? "[]" : "{}";
}

/** Words with letters, and such: the most frequent texts, which need no closer look. */
const plainPattern = /^[A-Za-z][\w./-]{5,40}$/;

function text(value: string, place: Place): string {
  if (plainPattern.test(value)) return value;
  const found = analysed(value);
  const isBlock = value.includes("\n") && found.fitsBlock && place.isKey !== true;
  if (isBlock) return literal(value, place.indent);
  if (value.includes("\n") || isOfAnotherType(value)) return doubleQuoted(value, place);
  if (found.fitsPlain) return folded(value, place);
  if (!found.fitsSingleQuotes) return doubleQuoted(value, place);
  return `'${folded(value.replaceAll("'", "''"), { ...place, column: place.column + 1, isQuoted: true })}'`;
}

const breakPattern = /[\r\n\u0085\u2028\u2029]/;
// oxlint-disable-next-line no-control-regex -- what is not printable is what it looks for
const unprintable = /[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u;

/** In which styles a text can be written (upstream: `yaml_emitter_analyze_scalar`). */
function analysed(value: string): { fitsPlain: boolean; fitsSingleQuotes: boolean; fitsBlock: boolean } {
  const isSpecial = unprintable.test(value) || / [\r\n\u0085\u2028\u2029]/.test(value);
  const hasSpaceAfterBreak = /[\r\n\u0085\u2028\u2029] /.test(value);
  const isIndicated =
    /^(?:---|\.\.\.|[#,[\]{}&*!|>'"%@`]|[?:-](?:[ \t]|$))/.test(value) ||
    /.:(?:[ \t]|$)|[ \t\r\n\u0085\u2028\u2029]#/s.test(value);
  const hasOuterSpace = /^[ \r\n\u0085\u2028\u2029]|[ \r\n\u0085\u2028\u2029]$/.test(value);
  return {
    fitsPlain: !isSpecial && !isIndicated && !hasOuterSpace && !breakPattern.test(value),
    fitsSingleQuotes: !isSpecial && !hasSpaceAfterBreak,
    fitsBlock: !isSpecial && value !== "" && !value.endsWith(" "),
  };
}

/** A text in lines as they are, behind `|` and how it begins and ends. */
function literal(value: string, indent: number): string {
  const beginning = /^[ \r\n\u0085\u2028\u2029]/.test(value) ? "2" : "";
  const end = /[\r\n\u0085\u2028\u2029]$/.test(value)
    ? /(?:^|[\r\n\u0085\u2028\u2029]).$/s.test(value)
      ? "+"
      : ""
    : "-";
  const margin = " ".repeat(indent);
  return `|${beginning}${end}\n${value.replace(/[^\r\n\u0085\u2028\u2029]+/g, (line) => margin + line)}`;
}

/** A text with a line break instead of a single space, where the line is long. */
function folded(value: string, { column, indent, isKey, isQuoted }: Place): string {
  if (isKey === true || column + value.length <= lineWidth || !value.includes(" ")) return value;
  const characters = Array.from(value);
  let at = column;
  let written = "";
  characters.forEach((character, index) => {
    const isSingleSpace = character === " " && characters[index - 1] !== " " && characters[index + 1] !== " ";
    const isInside = isQuoted !== true || (index > 0 && index < characters.length - 1);
    if (isSingleSpace && isInside && at > lineWidth) {
      written += `\n${" ".repeat(indent)}`;
      at = indent;
    } else {
      written += character;
      at += 1;
    }
  });
  return written;
}

const escapes: Readonly<Record<string, string>> = {
  "\0": "0",
  "\x07": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
  "\x1b": "e",
  '"': '"',
  "\\": "\\",
  "\x85": "N",
  "\u2028": "L",
  "\u2029": "P",
};

function doubleQuoted(value: string, { column, indent, isKey }: Place): string {
  const characters = Array.from(value);
  let at = column + 1;
  let written = '"';
  let wasSpace = false;
  characters.forEach((character, index) => {
    const isSpace = character === " ";
    const isInside = index > 0 && index < characters.length - 1;
    if (isSpace && !wasSpace && isInside && at > lineWidth && isKey !== true) {
      written += `\n${" ".repeat(indent)}${characters[index + 1] === " " ? "\\" : ""}`;
      at = indent + (characters[index + 1] === " " ? 1 : 0);
    } else {
      const shown = isSpace ? " " : escaped(character);
      written += shown;
      at += shown.length;
    }
    wasSpace = isSpace;
  });
  return `${written}"`;
}

function escaped(character: string): string {
  const escape = escapes[character];
  if (escape !== undefined) return `\\${escape}`;
  if (!unprintable.test(character)) return character;
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
}

/** Letters after anything else, and numbers by their value (upstream: `keyList.Less`). */
function compareKeys(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  let index = 0;
  while (index < length && left.charCodeAt(index) === right.charCodeAt(index)) index += 1;
  if (index === length) return left.length - right.length;
  if (index > 0 && isLeadingSurrogate(left.charCodeAt(index - 1))) index -= 1;
  const [one = 0, other = 0] = [left.codePointAt(index), right.codePointAt(index)];
  const [isOneLetter, isOtherLetter] = [isLetter(one), isLetter(other)];
  if (isOneLetter !== isOtherLetter) return isOtherLetter ? -1 : 1;
  if (isOneLetter) return one - other;
  // A number is longer than its first different digit when a zero is one of the two.
  const prefix = (one === zero || other === zero) && isInsideNumber(left, index) ? 1 : 0;
  const [end, otherEnd] = [endOfDigits(left, index), endOfDigits(right, index)];
  let [number, otherNumber] = [prefix, prefix];
  for (let at = index; at < end; at += 1) number = number * 10 + left.charCodeAt(at) - zero;
  for (let at = index; at < otherEnd; at += 1) otherNumber = otherNumber * 10 + right.charCodeAt(at) - zero;
  // Not a number when both are infinite.
  return number - otherNumber || end - otherEnd || one - other;
}

const letter = /\p{L}/u;
// An object may have thousands of keys, each of which is compared a dozen times.
const isLetter = (code: number): boolean =>
  code < 0x80 ? (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a : letter.test(String.fromCodePoint(code));
const zero = 0x30;
const isLeadingSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** Whether the digits right before the index are not all zeros. Sequentially: a pattern would try each place. */
function isInsideNumber(text: string, index: number): boolean {
  let at = index - 1;
  while (text.charCodeAt(at) === zero) at -= 1;
  return /[1-9]/.test(text.charAt(at));
}

function endOfDigits(text: string, index: number): number {
  let end = index;
  while (isDigit(text.charCodeAt(end))) end += 1;
  return end;
}
