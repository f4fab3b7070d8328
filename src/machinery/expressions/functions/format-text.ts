import { Duration, UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import { celMapOf } from "../cel-value.ts";
import { spendSteps } from "../cost-budget.ts";
import { doubleText } from "./double-text.ts";
import { durationText, timestampText } from "./time-text.ts";

/**
 * Formats like `string.format` of CEL, in its second version: `%s`, `%d`, `%f`, `%e`, `%b`, `%o`, `%x`, `%X` and `%%`, with a precision
 * (`%.2f`). Throws an Error for a clause that is unknown, and for a value that is missing or of a wrong type.
 */
export function formatText(text: string, values: readonly unknown[]): string {
  // JavaScript finds all clauses before it calls the function for the first.
  spendSteps(text.length);
  let next = 0;
  // oxlint-disable-next-line max-params -- what JavaScript gives
  return text.replaceAll(/%(?:\.(\d{1,3}))?([\s\S]?)/g, (_clause, precision: string | undefined, verb: string) => {
    if (verb === "%" && precision === undefined) return "%";
    const format = Object.hasOwn(formats, verb) ? formats[verb] : undefined;
    if (format === undefined) {
      throw new Error(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
    }
    if (next >= values.length) throw new Error(`index ${next} out of range`);
    const value = values[next++];
    const shown = format(value, precision === undefined ? undefined : Number(precision));
    if (shown === undefined) throw new Error(`error during formatting: %${verb} cannot show this value`);
    spendSteps(shown.length / 10);
    return shown;
  });
}

type Format = (value: unknown, precision?: number) => string | undefined;

const formats: Readonly<Record<string, Format>> = {
  s: (value) => shownText(value),
  d: (value) => integerOf(value)?.toString(),
  f: (value, precision = 6) => specialText(value) ?? (typeof value === "number" ? fixed(value, precision) : undefined),
  e: (value, width = 6) => {
    const shown = specialText(value) ?? (typeof value === "number" ? scientific(value) : undefined);
    return shown?.padStart(width, " ");
  },
  b: (value) => (typeof value === "boolean" ? String(Number(value)) : integerOf(value)?.toString(2)),
  o: (value) => integerOf(value)?.toString(8),
  x: hexadecimal,
  X: (value) => hexadecimal(value)?.toUpperCase(),
};

const integerOf = (value: unknown): bigint | undefined =>
  typeof value === "bigint" ? value : value instanceof UnsignedInt ? value.valueOf() : undefined;

function hexadecimal(value: unknown): string | undefined {
  if (typeof value === "string" || value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return integerOf(value)?.toString(16);
}

/** The text of NaN and of the infinities, which may also be given as a text, in the words of Go's `golang.org/x/text`. */
function specialText(value: unknown): string | undefined {
  if (value === "NaN" || Number.isNaN(value)) return "NaN";
  if (value === "Infinity" || value === Infinity) return "∞";
  return value === "-Infinity" || value === -Infinity ? "-∞" : undefined;
}

/** The digits of the exact value, as Go writes them, in groups of three. */
function fixed(value: number, precision: number): string {
  const [whole = "", fraction] = exactFixed(value, precision).split(".");
  const grouped = whole.replaceAll(/\d(?=(?:\d{3})+$)/g, "$&,");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** Writing all digits of a double takes as long as this many steps. */
const stepsOfDouble = 200;

/** JavaScript's `toFixed` rounds a tie up, Go rounds it to even; and JavaScript writes large values with an exponent. */
function exactFixed(value: number, precision: number): string {
  spendSteps(stepsOfDouble);
  const digits = Math.min(precision, 100);
  const [size, sign] = value < 0 || Object.is(value, -0) ? [-value, "-"] : [value, ""];
  if (size >= 1e21) return `${sign}${BigInt(size)}${digits > 0 ? `.${"0".repeat(digits)}` : ""}`;
  const rounded = size.toFixed(digits);
  const exact = size.toFixed(100);
  const end = exact.indexOf(".") + 1 + digits;
  const isRoundedUpToOdd = /^50*$/.test(exact.slice(end)) && /[13579]$/.test(rounded);
  return sign + (isRoundedUpToOdd ? exact.slice(0, digits === 0 ? end - 1 : end) : rounded);
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function scientific(value: number): string {
  const [digits = "", exponent = ""] = value.toExponential(6).split("e");
  const power = exponent.replace("+", "").replace(/\d+/, (number) => number.padStart(2, "0"));
  return `${digits}×10${power.replace("-", "⁻").replaceAll(/\d/g, (digit) => superscripts[Number(digit)] ?? "")}`;
}

/** A value as `%s` shows it: texts without quotes, lists and maps as CEL writes them. */
function shownText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8");
  if (value instanceof Date) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (typeof value === "number") return doubleText(value);
  return literal(value);
}

function literal(value: unknown): string | undefined {
  spendSteps(typeof value === "string" ? 3 + value.length / 10 : 3);
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") {
    return Number.isFinite(value) ? exactFixed(value, 6) : JSON.stringify(doubleText(value));
  }
  if (value === null || typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (value instanceof UnsignedInt) return String(value);
  if (value instanceof Uint8Array) return `b${quoted(Buffer.from(value).toString("utf8"))}`;
  if (value instanceof Date) return `timestamp("${timestampText(value)}")`;
  if (value instanceof Duration) return `duration("${durationText(value)}")`;
  if (Array.isArray(value)) return `[${(value as unknown[]).map(shownPart).join(", ")}]`;
  const map = celMapOf(value);
  if (map !== undefined) {
    const entries = Array.from(map, ([key, one]) => [shownPart(key), shownPart(one)] as const);
    entries.sort(([one], [other]) => (one < other ? -1 : 1));
    return `{${entries.map((entry) => entry.join(":")).join(", ")}}`;
  }
  return typeNameOf(value);
}

/** A text in quotes, as Go writes it. */
function quoted(text: string): string {
  const escaped = JSON.stringify(text);
  // Each escape makes the text longer.
  spendSteps(escaped.length - text.length);
  return escaped.replaceAll(/\\(?:u00([01][0-9a-f])|.)/g, (escape, code: string | undefined) => {
    if (code === undefined) return escape;
    return code === "07" ? "\\a" : code === "0b" ? "\\v" : `\\x${code}`;
  });
}

function shownPart(value: unknown): string {
  const shown = literal(value);
  if (shown === undefined) throw new Error("error during formatting: %s cannot show this value");
  return shown;
}

/** The library writes the type `int` as `Type<int>`. */
const typeNameOf = (value: unknown): string | undefined => /^Type<(.+)>$/.exec(String(value))?.[1];
