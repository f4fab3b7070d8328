import type { Environment } from "@marcbachmann/cel-js";
import { spendSteps } from "../cost-budget.ts";
import { findAll } from "../linear-pattern.ts";
import { celMapOf } from "../cel-value.ts";

class Strings {
  readonly name = "strings";
}

/** CEL's extension for strings as far as the library lacks it, and Kubernetes' functions for regular expressions. */
export function addStringFunctions(environment: Environment): void {
  const add = (signature: string, handler: (...given: never[]) => unknown): unknown =>
    environment.registerFunction(signature, handler, { async: false });
  add("string.charAt(int): string", (text: string, index: bigint) => {
    const characters = Array.from(text);
    if (index < 0n || index > BigInt(characters.length)) throw new Error(`index out of range: ${index}`);
    return characters[Number(index)] ?? "";
  });
  add("string.replace(string, string): string", (text: string, ...[old, by]: [string, string]) =>
    replaced(text, { old, by, limit: -1n }),
  );
  add("string.replace(string, string, int): string", (text: string, ...[old, by, limit]: [string, string, bigint]) =>
    replaced(text, { old, by, limit }),
  );
  add("string.find(string): string", (text: string, pattern: string) => findAll(text, { pattern, limit: 1 })[0] ?? "");
  add("string.findAll(string): list<string>", (text: string, pattern: string) => findAll(text, { pattern }));
  add("string.findAll(string, int): list<string>", (text: string, ...[pattern, limit]: [string, bigint]) =>
    findAll(text, { pattern, limit: Number(limit) }),
  );
  add("string.format(list<dyn>): string", (text: string, values: readonly unknown[]) => formatText(text, values));
  environment
    .registerType("kubernetes.Strings", Strings)
    .registerConstant("strings", "kubernetes.Strings", new Strings());
  add("kubernetes.Strings.quote(string): string", (_strings: Strings, text: string) => JSON.stringify(text));
}

interface Replacement {
  readonly old: string;
  readonly by: string;
  /** Negative: all of them. */
  readonly limit: bigint;
}

function replaced(text: string, { old, by, limit }: Replacement): string {
  if (limit === 0n) return text;
  const most = old === "" ? text.length + 1 : Math.floor(text.length / old.length);
  const times = limit < 0n ? most : Math.min(most, Number(limit));
  spendSteps((text.length + times * by.length) / 10);
  if (limit < 0n) return text.replaceAll(old, () => by);
  let result = "";
  let at = 0;
  for (let count = 0; count < times; count += 1) {
    const found = text.indexOf(old, at === 0 && old === "" ? 0 : at + (old === "" ? 1 : 0));
    if (found < 0) break;
    result += text.slice(at, found) + by;
    at = found + old.length;
  }
  return result + text.slice(at);
}

/**
 * Formats like `string.format` of CEL: `%s`, `%d`, `%f`, `%e`, `%b`, `%o`, `%x`, `%X` and `%%`, the second and third with a
 * precision (`%.2f`). Throws an Error for a clause that is unknown, and for a value that is missing or of a wrong type.
 */
function formatText(text: string, values: readonly unknown[]): string {
  let next = 0;
  // oxlint-disable-next-line max-params -- what JavaScript gives
  return text.replace(/%(?:\.(\d{1,3}))?([\s\S]?)/g, (clause, precision: string | undefined, verb: string) => {
    if (verb === "%" && precision === undefined) return "%";
    if (!/^[sdfeboxX]$/.test(verb))
      throw new Error(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
    if (next >= values.length) throw new Error(`index ${next} out of range`);
    const value = values[next++];
    const shown = formatted(value, { verb, precision: precision === undefined ? undefined : Number(precision) });
    if (shown === undefined) throw new Error(`error during formatting: ${clause} cannot show this value`);
    spendSteps(shown.length / 10);
    return shown;
  });
}

interface Clause {
  readonly verb: string;
  readonly precision: number | undefined;
}

function formatted(value: unknown, { verb, precision = 6 }: Clause): string | undefined {
  switch (verb) {
    case "s":
      return shownText(value);
    case "d":
      return typeof value === "bigint" || Number.isInteger(value) ? String(value) : undefined;
    case "f":
      return isNumber(value) ? Number(value).toFixed(Math.min(precision, 100)) : undefined;
    case "e":
      return isNumber(value) ? Number(value).toExponential(Math.min(precision, 100)) : undefined;
    case "b":
      return typeof value === "boolean"
        ? value
          ? "1"
          : "0"
        : typeof value === "bigint"
          ? value.toString(2)
          : undefined;
    case "o":
      return typeof value === "bigint" ? value.toString(8) : undefined;
    default: {
      const hexadecimal =
        typeof value === "bigint"
          ? value.toString(16)
          : typeof value === "string"
            ? Buffer.from(value, "utf8").toString("hex")
            : undefined;
      return verb === "X" ? hexadecimal?.toUpperCase() : hexadecimal;
    }
  }
}

const isNumber = (value: unknown): value is number | bigint => typeof value === "number" || typeof value === "bigint";

/** Formats a value as upstream prints it: texts without quotes, lists in brackets. */
function shownText(value: unknown): string {
  spendSteps(typeof value === "string" ? 1 + value.length / 10 : 1);
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(shownText).join(", ")}]`;
  if (value instanceof Date) return value.toISOString().replace(/\.000Z$/, "Z");
  const map = celMapOf(value);
  // Values with functions of their own, such as addresses and durations, have a text.
  if (map === undefined) return (value as { toString(): string }).toString();
  const entries = [...map].sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, one]) => `${key}: ${shownText(one)}`).join(", ")}}`;
}
