import type { Environment } from "@marcbachmann/cel-js";

const nanos = 1_000_000_000n;
const suffixes: Readonly<Record<string, readonly [base: bigint, power: bigint]>> = {
  "": [10n, 0n],
  k: [10n, 3n],
  M: [10n, 6n],
  G: [10n, 9n],
  T: [10n, 12n],
  P: [10n, 15n],
  E: [10n, 18n],
  Ki: [2n, 10n],
  Mi: [2n, 20n],
  Gi: [2n, 30n],
  Ti: [2n, 40n],
  Pi: [2n, 50n],
  Ei: [2n, 60n],
};
const smallSuffixes: Readonly<Record<string, bigint>> = { m: 1000n, u: 1_000_000n, n: nanos };
const longestQuantity = 64;

/** A quantity of Kubernetes, to a billionth. */
class Quantity {
  readonly nanos: bigint;

  constructor(value: bigint) {
    this.nanos = value;
  }

  static parse(text: string): Quantity {
    const match =
      text.length > longestQuantity
        ? null
        : /^([+-]?)(\d*)(?:\.(\d*))?(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE]([+-]?\d{1,2}))?$/.exec(text);
    const [, sign = "", whole = "", fraction = "", suffix = "", exponent] = match ?? [];
    if (match === null || whole + fraction === "") {
      throw new Error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    }
    const digits = BigInt(whole + fraction);
    let dividend = digits * nanos;
    let divisor = 10n ** BigInt(fraction.length);
    const power = Number(exponent ?? 0);
    if (power > 0) dividend *= 10n ** BigInt(power);
    if (power < 0) divisor *= 10n ** BigInt(-power);
    const [base, times] = suffixes[suffix] ?? [1n, 0n];
    dividend *= base ** times;
    divisor *= smallSuffixes[suffix] ?? 1n;
    // Upstream rounds up what is smaller than a billionth.
    const value = (dividend + divisor - 1n) / divisor;
    return new Quantity(sign === "-" ? -value : value);
  }

  get isInteger(): boolean {
    return this.nanos % nanos === 0n && BigInt.asIntN(64, this.nanos / nanos) === this.nanos / nanos;
  }
  asInteger(): bigint {
    if (!this.isInteger) throw new Error("cannot convert value to integer");
    return this.nanos / nanos;
  }
  plus(other: Quantity | bigint): Quantity {
    return new Quantity(this.nanos + (typeof other === "bigint" ? other * nanos : other.nanos));
  }
  minus(other: Quantity | bigint): Quantity {
    return new Quantity(this.nanos - (typeof other === "bigint" ? other * nanos : other.nanos));
  }
  compareTo(other: Quantity): bigint {
    return this.nanos < other.nanos ? -1n : this.nanos > other.nanos ? 1n : 0n;
  }
}

const isQuantity = (text: string): boolean => {
  try {
    return Quantity.parse(text) !== undefined;
  } catch {
    return false;
  }
};

/** Kubernetes' functions for quantities. */
export function addQuantityFunctions(environment: Environment): void {
  const type = "kubernetes.Quantity";
  const add = (signature: string, handler: (...given: never[]) => unknown): unknown =>
    environment.registerFunction(signature, handler, { async: false });
  environment.registerType(type, Quantity);
  environment.registerOperator(`${type} == ${type}`, (one: Quantity, other: Quantity) => one.nanos === other.nanos);
  add(`quantity(string): ${type}`, (text: string) => Quantity.parse(text));
  add("isQuantity(string): bool", isQuantity);
  add(`${type}.sign(): int`, (one: Quantity) => one.compareTo(new Quantity(0n)));
  add(`${type}.isInteger(): bool`, (one: Quantity) => one.isInteger);
  add(`${type}.asInteger(): int`, (one: Quantity) => one.asInteger());
  add(`${type}.asApproximateFloat(): double`, (one: Quantity) => Number(one.nanos) / Number(nanos));
  add(`${type}.isGreaterThan(${type}): bool`, (one: Quantity, other: Quantity) => one.nanos > other.nanos);
  add(`${type}.isLessThan(${type}): bool`, (one: Quantity, other: Quantity) => one.nanos < other.nanos);
  add(`${type}.compareTo(${type}): int`, (one: Quantity, other: Quantity) => one.compareTo(other));
  for (const other of [type, "int"]) {
    add(`${type}.add(${other}): ${type}`, (one: Quantity, value: Quantity | bigint) => one.plus(value));
    add(`${type}.sub(${other}): ${type}`, (one: Quantity, value: Quantity | bigint) => one.minus(value));
  }
}
