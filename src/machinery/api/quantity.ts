/** A text that is no quantity. The message uses upstream's words. */
export class InvalidQuantity extends Error {
  override readonly name = "InvalidQuantity";
}

/** An amount of something, such as `1.5Gi` bytes (upstream: `resource.Quantity`). */
interface Quantity {
  /** Its text with the largest suffix that leaves no fraction. Text that upstream considers canonical stays as it is. */
  readonly canonical: string;
  /** The amount in billionths. Undefined for a number so large that it would take long to compute with. */
  readonly nanos: bigint | undefined;
  /**
   * The power of ten that upstream counts in, where it computes with an integer of 64 bits (its `int64Amount`). `1.0` has -1. Undefined:
   * it computes with a decimal number of any length.
   */
  readonly power: number | undefined;
}

/**
 * Reads a quantity like upstream's `resource.ParseQuantity`: less than a billionth is a billionth, and a binary amount is at most 2^63 - 1.
 * Unlike there, 10^21 and more keep their value: upstream writes `3000E` as `3`. Throws InvalidQuantity.
 */
export function parseQuantity(text: string): Quantity {
  const match = quantityPattern.exec(text);
  if (match === null || text === "") throw new InvalidQuantity(invalidQuantity);
  const [, sign = "", whole = "", fraction = "", suffix = ""] = match;
  const scale = scaleOf(suffix);
  const digits = (whole.replace(/^0+/, "") || "0") + fraction;
  if (text.length > longestComputed || Math.abs(scale.power) > longestComputed) {
    return { canonical: text, nanos: undefined, power: undefined };
  }
  const power = scale.power - fraction.length;
  const isSimple = scale.isBinary
    ? fraction === "" && digits.length + 3 * scale.thousands <= 14
    : digits.length <= 18 && power >= -9;
  // Upstream reads other numbers with a library that needs a digit.
  if (!isSimple && whole + fraction === "") throw new InvalidQuantity(invalidNumber);
  const value = BigInt(digits);
  const isKept = isSimple && (scale.isBinary ? value % 8n !== 0n : isCanonical(digits, power));
  const size = scale.isBinary
    ? smallerOf(
        dividedUp(value * 1024n ** BigInt(scale.thousands) * billion, 10n ** BigInt(fraction.length)),
        largestBinary,
      )
    : power >= -9
      ? value * 10n ** BigInt(power + 9)
      : dividedUp(value, 10n ** BigInt(-9 - power));
  const amount: Amount = { size, isNegative: sign === "-", isExponent: scale.isExponent };
  return {
    canonical: isKept ? text : scale.isBinary ? binaryForm(amount) : decimalForm(amount),
    nanos: sign === "-" ? -size : size,
    power: isSimple ? (scale.isBinary ? 0 : power) : undefined,
  };
}

/** Each part can match in one way only: otherwise a long text would take time that grows with its square. */
const quantityPattern = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]+[-+]?\d*|[-+]\d*)?$/;
const invalidQuantity = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const invalidNumber = "unable to parse numeric part of quantity";
const unknownSuffix = "unable to parse quantity's suffix";
const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const binarySuffixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const longestComputed = 128;
const billion = 1_000_000_000n;
const largestBinary = (2n ** 63n - 1n) * billion;

interface Scale {
  /** The power of ten; 0 for a binary suffix. */
  readonly power: number;
  readonly isBinary: boolean;
  /** The power of 1024. */
  readonly thousands: number;
  /** Whether the suffix is `e` with a power. */
  readonly isExponent: boolean;
}

function scaleOf(suffix: string): Scale {
  const decimal = { power: 0, isBinary: false, thousands: 0, isExponent: false };
  const thousands = binarySuffixes.indexOf(suffix) + 1;
  if (thousands > 0) return { ...decimal, isBinary: true, thousands };
  const index = decimalSuffixes.indexOf(suffix);
  if (index !== -1) return { ...decimal, power: index * 3 - 9 };
  const exponent = /^[eE]([+-]?\d+)$/.exec(suffix)?.[1];
  if (exponent === undefined) throw new InvalidQuantity(unknownSuffix);
  return { ...decimal, power: Number(exponent), isExponent: true };
}

/** Upstream's test for canonical text, which `1.500` passes too. */
const isCanonical = (digits: string, power: number): boolean =>
  power % 3 === 0 && !digits.endsWith("000") && !digits.startsWith("0");

interface Amount {
  /** In billionths. */
  readonly size: bigint;
  readonly isNegative: boolean;
  readonly isExponent: boolean;
}

function decimalForm({ size, isNegative, isExponent }: Amount): string {
  if (size === 0n) return "0";
  let [value, power] = [size, -9];
  const largest = isExponent ? Infinity : 18;
  while (value % 1000n === 0n && power < largest) [value, power] = [value / 1000n, power + 3];
  const shown = `${isNegative ? "-" : ""}${value}`;
  if (isExponent) return power === 0 ? shown : `${shown}e${power}`;
  return shown + decimalSuffixes[power / 3 + 3];
}

/** The text of an amount with a binary suffix, or a decimal one when it is below 1024 or has a fraction. */
function binaryForm(amount: Amount): string {
  const { size, isNegative } = amount;
  if (size < 1024n * billion || size % billion !== 0n) return decimalForm(amount);
  let whole = size / billion;
  let thousands = 0;
  for (; whole % 1024n === 0n; thousands += 1) whole /= 1024n;
  return `${isNegative ? "-" : ""}${whole}${binarySuffixes[thousands - 1] ?? ""}`;
}

const dividedUp = (value: bigint, divisor: bigint): bigint => (value + divisor - 1n) / divisor;
const smallerOf = (one: bigint, other: bigint): bigint => (one < other ? one : other);
