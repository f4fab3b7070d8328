import type { Environment } from "@marcbachmann/cel-js";
import { addFunctions, forTypes, parses } from "../add-functions.ts";
import { parseQuantity } from "../../api/quantity.ts";

const nanos = 1_000_000_000n;

/** A quantity of Kubernetes, to a billionth. */
class Quantity {
  readonly nanos: bigint;
  readonly #power: number | undefined;

  constructor(value: bigint, power: number | undefined) {
    this.nanos = value;
    this.#power = power;
  }

  static parse(text: string): Quantity {
    const { nanos: amount, power } = parseQuantity(text);
    if (amount === undefined) throw new Error("the quantity is too large or too small to compute with");
    return new Quantity(amount, power);
  }

  static of(value: Quantity | bigint): Quantity {
    return typeof value === "bigint" ? new Quantity(value * nanos, 0) : value;
  }

  /** Whether it was written as a whole number, which upstream's `AsInt64` requires: `1.0` and `1000m` were not. */
  get isInteger(): boolean {
    if (this.#power === undefined || this.#power < 0) return false;
    return BigInt.asIntN(64, this.nanos / nanos) === this.nanos / nanos;
  }
  asInteger(): bigint {
    if (!this.isInteger) throw new Error("cannot convert value to integer");
    return this.nanos / nanos;
  }
  plus(other: Quantity | bigint): Quantity {
    const added = Quantity.of(other);
    return new Quantity(this.nanos + added.nanos, this.#powerWith(added));
  }
  minus(other: Quantity | bigint): Quantity {
    const taken = Quantity.of(other);
    return new Quantity(this.nanos - taken.nanos, this.#powerWith(taken));
  }
  /** The power of a sum, which upstream counts in the smaller of both powers. When one of the two is zero, the other's power stays. */
  #powerWith(other: Quantity): number | undefined {
    if (this.#power === undefined || other.#power === undefined) return undefined;
    if (other.nanos === 0n) return this.#power;
    return this.nanos === 0n ? other.#power : Math.min(this.#power, other.#power);
  }
  compareTo(other: Quantity): bigint {
    return this.nanos < other.nanos ? -1n : this.nanos > other.nanos ? 1n : 0n;
  }
}

/** Kubernetes' functions for quantities. */
export function addQuantityFunctions(environment: Environment): void {
  const type = "kubernetes.Quantity";
  environment.registerType(type, Quantity);
  environment.registerOperator(`${type} == ${type}`, (one: Quantity, other: Quantity) => one.nanos === other.nanos);
  addFunctions(environment, {
    [`quantity(string): ${type}`]: (text: string) => Quantity.parse(text),
    "isQuantity(string): bool": parses(parseQuantity),
    [`sign(${type}): int`]: (one: Quantity) => one.compareTo(Quantity.of(0n)),
    [`${type}.isInteger(): bool`]: (one: Quantity) => one.isInteger,
    [`${type}.asInteger(): int`]: (one: Quantity) => one.asInteger(),
    [`${type}.asApproximateFloat(): double`]: (one: Quantity) =>
      Number(one.nanos / nanos) + Number(one.nanos % nanos) / Number(nanos),
    [`${type}.isGreaterThan(${type}): bool`]: (one: Quantity, other: Quantity) => one.nanos > other.nanos,
    [`${type}.isLessThan(${type}): bool`]: (one: Quantity, other: Quantity) => one.nanos < other.nanos,
    [`${type}.compareTo(${type}): int`]: (one: Quantity, other: Quantity) => one.compareTo(other),
    ...forTypes([type, "int"], {
      [`${type}.add(T): ${type}`]: (one: Quantity, value: Quantity | bigint) => one.plus(value),
      [`${type}.sub(T): ${type}`]: (one: Quantity, value: Quantity | bigint) => one.minus(value),
    }),
  });
}
