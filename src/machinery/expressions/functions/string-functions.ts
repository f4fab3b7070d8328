import type { Environment } from "@marcbachmann/cel-js";
import { addFunctions } from "../add-functions.ts";
import { compareValues } from "../compare-values.ts";
import { spendSteps } from "../cost-budget.ts";
import { findAll, isFound } from "../linear-pattern.ts";
import { formatText } from "./format-text.ts";

/**
 * The characters of a text as CEL counts them: code points. JavaScript counts a code point above U+FFFF as two. A text without any of these
 * is returned itself.
 */
export const characters = (text: string): string | readonly string[] =>
  /[\ud800-\udfff]/.test(text) ? Array.from(text) : text;

const joined = (part: string | readonly string[]): string => (typeof part === "string" ? part : part.join(""));

/** A text that nearly repeats itself is compared at every position. Upstream computes the cost in the same way. */
const spendSearch = (text: string, part: string): void =>
  spendSteps(Math.ceil(text.length / 10) * Math.max(1, Math.ceil(part.length / 10)));

function inRange(index: bigint, length: number): number {
  if (index < 0n || index > BigInt(length)) throw new Error(`index out of range: ${index}`);
  return Number(index);
}

function substring(text: string, ...[start, end]: readonly [bigint, bigint?]): string {
  const all = characters(text);
  if (end !== undefined && start > end) throw new Error(`invalid substring range. start: ${start}, end: ${end}`);
  return joined(all.slice(inRange(start, all.length), inRange(end ?? BigInt(all.length), all.length)));
}

interface Search {
  readonly part: string;
  /** Where the search begins. Undefined: at the start, or at the end when `isLast`. */
  readonly offset: bigint | undefined;
  readonly isLast: boolean;
}

function indexOf(text: string, { part, offset, isLast }: Search): bigint {
  spendSearch(text, part);
  const all = characters(text);
  if (part === "") return offset ?? (isLast ? BigInt(all.length) : 0n);
  if (offset !== undefined && offset < 0n) throw new Error(`index out of range: ${offset}`);
  if (offset !== undefined && offset >= BigInt(all.length)) return -1n;
  const at = offset === undefined ? undefined : joined(all.slice(0, Number(offset))).length;
  const found = isLast ? text.lastIndexOf(part, at ?? Infinity) : text.indexOf(part, at ?? 0);
  return BigInt(found < 0 ? found : characters(text.slice(0, found)).length);
}

/** All parts, or at most `limit` parts, of which the last contains the rest. */
function split(text: string, ...[separator, limit = -1n]: readonly [string, bigint?]): string[] {
  spendSearch(text, separator);
  if (limit === 0n) return [];
  const parts = separator === "" ? Array.from(text) : text.split(separator);
  if (limit < 0n || BigInt(parts.length) <= limit) return parts;
  const count = Number(limit) - 1;
  return [...parts.slice(0, count), parts.slice(count).join(separator)];
}

function replace(text: string, ...[old, by, limit = -1n]: readonly [string, string, bigint?]): string {
  spendSearch(text, old);
  if (limit === 0n) return text;
  const most = old === "" ? text.length + 1 : Math.floor(text.length / old.length);
  const times = limit < 0n ? most : Math.min(most, Number(limit));
  spendSteps((times * by.length) / 10);
  // As in Go, an empty text is found before each character, and at the end.
  const parts = old === "" ? ["", ...Array.from(text), ""] : text.split(old);
  const replaced = parts.slice(0, times + 1).join(by);
  const rest = parts.slice(times + 1);
  return rest.length === 0 ? replaced : [replaced, ...rest].join(old);
}

function join(list: readonly unknown[], separator = ""): string {
  spendSteps((list.length * separator.length) / 10);
  if (list.every((one) => typeof one === "string")) return list.join(separator);
  throw new Error("join: invalid input: the list must have only strings");
}

const escapes: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

/** A replacement that spends steps for each replaced part. */
const spending =
  (replacement: (part: string) => string) =>
  (part: string): string => {
    spendSteps(1);
    return replacement(part);
  };

const quote = (text: string): string =>
  `"${text.toWellFormed().replaceAll(
    /["\\\p{Cc}]/gu,
    spending((one) => escapes[one] ?? one),
  )}"`;

/** The white space that Go's `strings.TrimSpace` removes. */
const space = String.raw`[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]`;
const leadingSpace = new RegExp(`^${space}+`);

function trim(text: string): string {
  const start = text.replace(leadingSpace, "");
  let end = start.length;
  while (end > 0 && isSpace.test(start.charAt(end - 1))) end -= 1;
  return start.slice(0, end);
}
const isSpace = new RegExp(space);

/** CEL's functions for strings with its extension, and Kubernetes' for regular expressions. */
export function addStringFunctions(environment: Environment): void {
  class Strings {
    readonly name = "strings";
  }
  environment
    .registerType("kubernetes.Strings", Strings)
    .registerConstant("strings", "kubernetes.Strings", new Strings());
  // The library compares strings, and has no order for bytes.
  const compares = { "<": [-1], "<=": [-1, 0], ">": [1], ">=": [0, 1] };
  for (const [operator, results] of Object.entries(compares)) {
    environment.registerOperator(`bytes ${operator} bytes`, (one: Uint8Array, other: Uint8Array) =>
      results.includes(compareValues(one, other)),
    );
  }
  addFunctions(environment, {
    "string.contains(string): bool": (text: string, part: string) => {
      spendSearch(text, part);
      return text.includes(part);
    },
    "string.startsWith(string): bool": (text: string, part: string) => text.startsWith(part),
    "string.endsWith(string): bool": (text: string, part: string) => text.endsWith(part),
    "string.matches(string): bool": isFound,
    "matches(string, string): bool": isFound,
    "string.find(string): string": (text: string, pattern: string) => findAll(text, { pattern, limit: 1 })[0] ?? "",
    "string.findAll(string): list<string>": (text: string, pattern: string) => findAll(text, { pattern }),
    "string.findAll(string, int): list<string>": (text: string, ...[pattern, limit]: [string, bigint]) =>
      findAll(text, { pattern, limit: Number(limit) }),
    "string.charAt(int): string": (text: string, index: bigint) => {
      const all = characters(text);
      return all[inRange(index, all.length)] ?? "";
    },
    "string.indexOf(string): int": (text: string, part: string) =>
      indexOf(text, { part, offset: undefined, isLast: false }),
    "string.indexOf(string, int): int": (text: string, ...[part, offset]: [string, bigint]) =>
      indexOf(text, { part, offset, isLast: false }),
    "string.lastIndexOf(string): int": (text: string, part: string) =>
      indexOf(text, { part, offset: undefined, isLast: true }),
    "string.lastIndexOf(string, int): int": (text: string, ...[part, offset]: [string, bigint]) =>
      indexOf(text, { part, offset, isLast: true }),
    "string.lowerAscii(): string": (text: string) =>
      text.replaceAll(
        /[A-Z]+/g,
        spending((part) => part.toLowerCase()),
      ),
    "string.upperAscii(): string": (text: string) =>
      text.replaceAll(
        /[a-z]+/g,
        spending((part) => part.toUpperCase()),
      ),
    "string.replace(string, string): string": replace,
    "string.replace(string, string, int): string": replace,
    "string.split(string): list<string>": split,
    "string.split(string, int): list<string>": split,
    "string.substring(int): string": substring,
    "string.substring(int, int): string": substring,
    "string.trim(): string": trim,
    "list<string>.join(): string": join,
    "list<string>.join(string): string": join,
    "string.format(list<dyn>): string": formatText,
    "kubernetes.Strings.quote(string): string": (_strings: Strings, text: string) => quote(text),
  });
}
