import type {
  LabelRequirement,
  Labels,
  LabelSelector,
} from "../../../../src/machinery/api/selectors/label-selector.ts";

/** What a selector means, one requirement after the other. The server's matcher must agree. */
export const matchesLabels = (selector: LabelSelector, labels: Labels = {}): boolean =>
  selector.every((requirement) => isMet(requirement, labels));

function isMet({ key, operator, values }: LabelRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "exists":
      return value !== undefined;
    case "doesNotExist":
      return value === undefined;
    case "in":
    case "=":
    case "==":
      return value !== undefined && values.includes(value);
    case "notin":
    case "!=":
      return value === undefined || !values.includes(value);
    case ">":
    case "<": {
      const [left, right] = [parseInteger(value ?? ""), parseInteger(values[0] ?? "")];
      if (left === undefined || right === undefined) return false;
      return operator === ">" ? left > right : left < right;
    }
  }
}

/** Parses a 64-bit integer like Go. */
function parseInteger(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,63}$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
