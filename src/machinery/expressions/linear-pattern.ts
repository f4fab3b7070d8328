import { RE2JS } from "re2js";
import { RecentlyUsed } from "../api/recently-used.ts";
import { spendSteps } from "./cost-budget.ts";

const longestPattern = 4096;
/** The largest pattern, with its repetitions written out. It takes some 70 ms to compile. */
const largestSize = 10_000;
const stepsToCompile = 50;
const maximumPatterns = 128;

const patterns = new RecentlyUsed<RE2JS>({ maximumEntries: maximumPatterns });

/** Compiles a regular expression of RE2, which matches in linear time. Throws an Error when it is not valid, or too large. */
export function linearPattern(pattern: string): RE2JS {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  if (pattern.length > longestPattern) throw new Error("the regular expression is too long");
  const size = patternSize(pattern);
  if (size > largestSize) throw new Error("the repetitions in the regular expression are too large");
  spendSteps(stepsToCompile * size);
  const compiled = RE2JS.compile(pattern);
  patterns.set(pattern, compiled);
  return compiled;
}

/** Whether the pattern is found in the text. Spends steps for the search. */
export function isFound(text: string, pattern: string): boolean {
  const compiled = linearPattern(pattern);
  spendSteps(searchSteps(text, compiled));
  return compiled.matcher(text).find();
}

/** The first matches of a pattern, at most `limit`; all of them when `limit` is negative or left out. Spends steps for each search. */
export function findAll(
  text: string,
  { pattern, limit = -1 }: { readonly pattern: string; readonly limit?: number },
): string[] {
  const compiled = linearPattern(pattern);
  const steps = searchSteps(text, compiled);
  const matcher = compiled.matcher(text);
  const found: string[] = [];
  while (found.length !== limit) {
    spendSteps(steps);
    if (!matcher.find()) break;
    found.push(matcher.group() ?? "");
  }
  return found;
}

/** A character takes some tenths of a microsecond, and more where many parts of the pattern may match it at once. */
const searchSteps = (text: string, compiled: RE2JS): number =>
  1 + Math.ceil(text.length * (2 + compiled.programSize() / 8));

/** The size of a group, a class or an alternative besides its characters. */
const sizeOfPart = 12;
/** A Unicode class has hundreds of ranges. They are collected once, and searched wherever the class is repeated. */
const sizeOfClass = 100;
const sizeWithClasses = 8;
/** Each character of a range is looked up when case does not matter: six milliseconds for most of Unicode. */
const sizeOfFoldedRange = 1500;

/** An upper bound of a pattern's size: its length with counted repetitions written out, and more for parts that are slow. */
export function patternSize(pattern: string): number {
  const groups: number[] = [];
  const ignoresCase = /\(\?[a-zA-Z]*i/.test(pattern);
  const size = /\\[pP]/.test(pattern) ? sizeWithClasses : 1;
  let length = 0;
  let last = 0;
  let extra = 0;
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    if ("([|".includes(character)) extra += sizeOfPart;
    if (character === "(") {
      groups.push(length);
      length = 0;
      last = 0;
    } else if (character === ")") {
      last = length;
      length += groups.pop() ?? 0;
    } else if (character === "{") {
      const repeat = /^\{(\d{1,4})(?:,(\d{0,4}))?\}/.exec(pattern.slice(at, at + 12));
      const count = repeat === null ? 1 : Math.max(1, Number(repeat[1]), Number(repeat[2] ?? 0));
      length += last * (count - 1);
      last *= count;
    } else {
      if (character === "\\") {
        at += 1;
        if (/[pP]/.test(pattern[at] ?? "")) extra += sizeOfClass;
      } else if (character === "-" && ignoresCase && /^(?:\\x|[^ -~])/.test(pattern.slice(at + 1, at + 3))) {
        extra += sizeOfFoldedRange;
      }
      last = size;
      length += size;
    }
  }
  return groups.reduce((sum, one) => sum + one, length) + extra;
}
