import { celMapOf } from "../cel-value.ts";
import { spendSteps } from "../cost-budget.ts";

/**
 * Formats like `string.format` of CEL: `%s`, `%d`, `%f`, `%e`, `%b`, `%o`, `%x`, `%X` and `%%`, the second and third with a
 * precision (`%.2f`). Throws an Error for a clause that is unknown, and for a value that is missing or of a wrong type.
 */
export function formatText(text: string, values: readonly unknown[]): string {
  let next = 0;
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

/** As upstream prints values: texts without quotes, lists in brackets. */
function shownText(value: unknown): string {
  spendSteps(typeof value === "string" ? 1 + value.length / 10 : 1);
  if (typeof value !== "object" || value === null) return `${value as string | number | bigint | boolean | null}`;
  if (Array.isArray(value)) return `[${value.map(shownText).join(", ")}]`;
  if (value instanceof Date) return value.toISOString().replace(/\.000Z$/, "Z");
  const map = celMapOf(value);
  // Values with functions of their own, such as addresses and durations, have a text.
  if (map === undefined) return (value as { toString(): string }).toString();
  const entries = [...map].sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, one]) => `${key}: ${shownText(one)}`).join(", ")}}`;
}
