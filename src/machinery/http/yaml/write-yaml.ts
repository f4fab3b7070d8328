import type { SizedIterable } from "../../api/sized-iterable.ts";
import { isDigit } from "../../schema/json-reader.ts";
import { isOfAnotherType } from "./yaml-plain-types.ts";

/** Upstream's library breaks lines at the first space behind this column. */
const lineWidth = 80;
/** In bytes. A longer key is written after a question mark. */
const longestSimpleKey = 128;

/**
 * Formats a JSON value as YAML, as upstream's library (go.yaml.in/yaml/v2) does: sorted keys, lists not indented, strings
 * quoted only where they must be.
 */
export const writeYaml = (value: unknown): string => [...yamlParts(value)].join("");

/**
 * The same text in parts that are made one by one, so that the work can be divided into turns. A part is a few lines, or empty. A list
 * need not be an array: its items are asked for one by one.
 */
export function* yamlParts(value: unknown): Generator<string> {
  if (isContainer(value)) yield* block(value, lineAt(""));
  else yield ended(scalar(value, { column: 0, indent: 2 }));
}

type Container = SizedIterable<unknown> | Readonly<Record<string, unknown>>;

/** Whether the value takes lines of its own. Empty lists and objects do not. */
function isContainer(value: unknown): value is Container {
  if (typeof value !== "object" || value === null) return false;
  if (isList(value)) return value.length > 0;
  for (const key in value) if ((value as Readonly<Record<string, unknown>>)[key] !== undefined) return true;
  return false;
}

const isList = (value: object): value is SizedIterable<unknown> => Symbol.iterator in value;

/** The lines of a list or an object. The first begins with `start`, the others with the indent. Each ends with a line break. */
function* block(value: Container, { indent, start }: Line): Generator<string> {
  let begin = start;
  if (isList(value)) {
    for (const item of value) {
      yield* inlined(item, { indent, start: `${begin}-` });
      begin = indent;
    }
    return;
  }
  for (const [key, member] of yield* sortedMembers(value)) {
    const isSimple = Buffer.byteLength(key) <= longestSimpleKey && !breakPattern.test(key);
    if (!isSimple) {
      yield scalarLine(key, { indent, start: `${begin}?` });
      yield* inlined(member, { indent, start: `${indent}:` });
      begin = indent;
      continue;
    }
    const written = scalar(key, { column: 0, indent: 0, isKey: true });
    if (!isContainer(member)) yield scalarLine(member, { indent, start: `${begin}${written}:` });
    else {
      yield `${begin}${written}:\n`;
      yield* block(member, lineAt(isList(member) ? indent : `${indent}  `));
    }
    begin = indent;
  }
}

type Member = readonly [key: string, value: unknown];

/**
 * The sorted members with a value. Members without one are removed before, because upstream's order is not transitive: they would change
 * the order of the others.
 */
const sortedMembers = (object: object): Generator<string, readonly Member[]> =>
  sorted(Object.entries(object).filter(([, value]) => value !== undefined));

/** How many members are sorted in one step. */
const shortRow = 500;

/** Sorts members. Yields empty texts between its steps. */
function* sorted(members: Member[]): Generator<string, readonly Member[]> {
  if (members.length <= shortRow) return members.sort(([left], [right]) => compareKeys(left, right));
  yield "";
  const middle = members.length >>> 1;
  const left = yield* sorted(members.slice(0, middle));
  const right = yield* sorted(members.slice(middle));
  return yield* merged(left, right);
}

function* merged(left: readonly Member[], right: readonly Member[]): Generator<string, readonly Member[]> {
  const all: Member[] = [];
  let taken = 0;
  let next = right[taken];
  for (const member of left) {
    for (; next !== undefined && compareKeys(next[0], member[0]) < 0; next = right[(taken += 1)]) all.push(next);
    if (all.push(member) % shortRow === 0) yield "";
  }
  return all.concat(right.slice(taken));
}

interface Line {
  readonly indent: string;
  /** What the first line begins with: the indent, or keys and indicators. */
  readonly start: string;
}

const lineAt = (indent: string): Line => ({ indent, start: indent });

/** A value that begins in the line of its indicator. */
function* inlined(value: unknown, { indent, start }: Line): Generator<string> {
  if (isContainer(value)) yield* block(value, { indent: `${indent}  `, start: `${start} ` });
  else yield scalarLine(value, { indent, start });
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
  return isList(value) ? "[]" : "{}";
}

/** The most frequent texts, such as words and names, which need no closer analysis. */
const plainPattern = /^[A-Za-z][\w./-]{5,40}$/;

function text(value: string, place: Place): string {
  if (plainPattern.test(value)) return value;
  const styles = possibleStyles(value);
  const isBlock = value.includes("\n") && styles.fitsBlock && place.isKey !== true;
  if (isBlock) return literal(value, place.indent);
  if (value.includes("\n") || isOfAnotherType(value)) return doubleQuoted(value, place);
  if (styles.fitsPlain) return folded(value, place);
  if (!styles.fitsSingleQuotes) return doubleQuoted(value, place);
  return `'${folded(value.replace(/'/g, "''"), { ...place, column: place.column + 1, isQuoted: true })}'`;
}

const breakPattern = /[\r\n\u0085\u2028\u2029]/;
// oxlint-disable-next-line no-control-regex -- what is not printable is what it looks for
const unprintable = /[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u;

/** In which styles a text can be written (upstream: `yaml_emitter_analyze_scalar`). */
function possibleStyles(value: string): { fitsPlain: boolean; fitsSingleQuotes: boolean; fitsBlock: boolean } {
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

/** A literal block: `|` with the indicators for its indentation and its end, then the lines as they are. */
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

/** Breaks a long text at single spaces. All its characters are printable, so each is one UTF-16 unit. */
function folded(value: string, { column, indent, isKey, isQuoted }: Place): string {
  if (isKey === true || column + value.length <= lineWidth || !value.includes(" ")) return value;
  const last = value.length - 1;
  let written = "";
  let begin = 0;
  let beginColumn = column;
  for (let at = value.indexOf(" "); at >= 0; at = value.indexOf(" ", at + 1)) {
    if (beginColumn + at - begin <= lineWidth || value[at - 1] === " " || value[at + 1] === " ") continue;
    if (isQuoted === true && (at === 0 || at === last)) continue;
    written += `${value.slice(begin, at)}\n${" ".repeat(indent)}`;
    begin = at + 1;
    beginColumn = indent;
  }
  return written + value.slice(begin);
}

const escapes: ReadonlyMap<number, string> = new Map(
  Object.entries({
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
  }).map(([character, letter]) => [character.charCodeAt(0), `\\${letter}`]),
);

function doubleQuoted(value: string, { column: start, indent, isKey }: Place): string {
  const last = value.length - 1;
  let written = '"';
  let begin = 0;
  let column = start + 1;
  for (let at = 0; at <= last; at += 1) {
    const code = value.charCodeAt(at);
    if (code === space && column > lineWidth && at > 0 && at < last && value[at - 1] !== " " && isKey !== true) {
      const next = `${" ".repeat(indent)}${value[at + 1] === " " ? "\\" : ""}`;
      written += `${value.slice(begin, at)}\n${next}`;
      begin = at + 1;
      column = next.length;
      continue;
    }
    const escape = isUnescaped(code) ? undefined : escapeOf(value.codePointAt(at) ?? code);
    column += escape?.length ?? 1;
    if (escape === undefined) continue;
    written += value.slice(begin, at) + escape;
    if (isLeadingSurrogate(code) && value.codePointAt(at) !== code) at += 1;
    begin = at + 1;
  }
  return `${written}${value.slice(begin)}"`;
}

/** Whether a character is printable ASCII that needs no escape, as most characters of most texts. */
const isUnescaped = (code: number): boolean => code >= 0x20 && code < 0x7f && code !== 0x22 && code !== 0x5c;

/** How a character is written in double quotes. Undefined: as it is. */
function escapeOf(code: number): string | undefined {
  const escape = escapes.get(code);
  if (escape !== undefined || isPrintable(code)) return escape;
  const digits = code.toString(16).toUpperCase();
  if (digits.length <= 2) return `\\x${digits.padStart(2, "0")}`;
  return digits.length <= 4 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}

const isPrintable = (code: number): boolean =>
  (code >= 0x20 && code <= 0x7e) ||
  (code >= 0xa0 && code <= 0xd7ff) ||
  (code >= 0xe000 && code <= 0xfefe) ||
  (code >= 0xff00 && code <= 0xfffd);

/** Compares keys: letters come after all other characters, and numbers by their value (upstream: `keyList.Less`). */
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
  // If one of the different characters is a zero, the number may begin before it. A 1 stands for equal digits before it that are not all 0.
  const prefix = (one === zero || other === zero) && hasNonZeroDigitBefore(left, index) ? 1 : 0;
  const [end, otherEnd] = [endOfDigits(left, index), endOfDigits(right, index)];
  let [number, otherNumber] = [prefix, prefix];
  for (let at = index; at < end; at += 1) number = number * 10 + left.charCodeAt(at) - zero;
  for (let at = index; at < otherEnd; at += 1) otherNumber = otherNumber * 10 + right.charCodeAt(at) - zero;
  // The difference is NaN when both are infinite.
  return number - otherNumber || end - otherEnd || one - other;
}

const letter = /\p{L}/u;
// An object may have thousands of keys, each of which is compared a dozen times.
const isLetter = (code: number): boolean =>
  code < 0x80 ? (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a : letter.test(String.fromCodePoint(code));
const zero = 0x30;
const space = 0x20;
const isLeadingSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** Whether one of the digits right before the index is not a zero. A loop, because a regular expression would try each start. */
function hasNonZeroDigitBefore(text: string, index: number): boolean {
  let at = index - 1;
  while (text.charCodeAt(at) === zero) at -= 1;
  return /[1-9]/.test(text.charAt(at));
}

function endOfDigits(text: string, index: number): number {
  let end = index;
  while (isDigit(text.charCodeAt(end))) end += 1;
  return end;
}
