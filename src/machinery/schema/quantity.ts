import { TypeMismatch } from "./decode-faults.ts";

/**
 * A quantity in its canonical form: the largest suffix that leaves no fraction (upstream: `resource.Quantity`). Text that upstream
 * takes for canonical stays as it is. Throws a TypeMismatch in upstream's words.
 */
export function canonicalQuantity(text: string): string {
  const match = quantityPattern.exec(text);
  if (match === null || text === "") throw new TypeMismatch(invalidQuantity);
  const [, sign = "", digits = "", fraction = "", suffix = ""] = match;
  const exponent = /^[eE]([+-]?\d+)$/.exec(suffix)?.[1];
  const power = exponent === undefined ? decimalSuffixes.indexOf(suffix) * 3 - 9 : Number(exponent);
  const binaryPower = binarySuffixes.indexOf(suffix);
  if (exponent === undefined && power < -9 && binaryPower === -1) throw new TypeMismatch(unknownSuffix);
  // Numbers of this size are no amounts of anything, and take long to compute with.
  if (text.length > longestComputed || Math.abs(power) > longestComputed) return text;
  const whole = digits.replace(/^0+/, "") || "0";
  const value = BigInt(whole + fraction);
  if (value === 0n) return "0";
  const isNegative = sign === "-";
  if (binaryPower !== -1) {
    if (fraction === "" && value % 8n !== 0n) return text;
    return binaryForm({ value: value * 1024n ** BigInt(binaryPower + 1), places: fraction.length, isNegative });
  }
  const number = { value, power: power - fraction.length, isExponent: exponent !== undefined, isNegative };
  return isKeptAsItIs(whole + fraction, number.power) ? text : decimalForm(number);
}

/** Each part can match in one way only: otherwise a long text would take time that grows with its square. */
const quantityPattern = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]+[-+]?\d*|[-+]\d*)?$/;
const invalidQuantity = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const unknownSuffix = "unable to parse quantity's suffix";
const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const binarySuffixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const longestComputed = 128;
const largestBinary = 2n ** 63n - 1n;

/** Upstream's test for the canonical form, which also takes `1.500` for it. */
const isKeptAsItIs = (digits: string, power: number): boolean =>
  digits.length <= 18 && power >= -9 && power % 3 === 0 && !digits.endsWith("000") && !digits.startsWith("0");

interface DecimalNumber {
  readonly value: bigint;
  /** Of ten. */
  readonly power: number;
  /** Whether its suffix is `e` with a power. */
  readonly isExponent: boolean;
  readonly isNegative: boolean;
}

function decimalForm(number: DecimalNumber): string {
  let { value, power } = number;
  // Less than a billionth is a billionth.
  if (power < -9) [value, power] = [dividedUp(value, 10n ** BigInt(-9 - power)), -9];
  while (value % 10n === 0n) [value, power] = [value / 10n, power + 1];
  const suffixPower = number.isExponent ? 3 * Math.floor(power / 3) : Math.min(3 * Math.floor(power / 3), 18);
  const shown = `${number.isNegative ? "-" : ""}${value * 10n ** BigInt(power - suffixPower)}`;
  if (number.isExponent) return suffixPower === 0 ? shown : `${shown}e${suffixPower}`;
  return shown + decimalSuffixes[suffixPower / 3 + 3];
}

interface BinaryNumber {
  readonly value: bigint;
  /** How many digits of the value are behind the point. */
  readonly places: number;
  readonly isNegative: boolean;
}

/** With a binary suffix, unless it is below 1024 or has a fraction. */
function binaryForm({ value, places, isNegative }: BinaryNumber): string {
  const divisor = 10n ** BigInt(places);
  if (value < 1024n * divisor || value % divisor !== 0n) {
    return decimalForm({ value, power: -places, isExponent: false, isNegative });
  }
  let whole = value / divisor;
  if (whole > largestBinary) whole = largestBinary;
  let times = 0;
  for (; whole % 1024n === 0n; times += 1) whole /= 1024n;
  return `${isNegative ? "-" : ""}${whole}${binarySuffixes[times - 1] ?? ""}`;
}

const dividedUp = (value: bigint, divisor: bigint): bigint => (value + divisor - 1n) / divisor;
