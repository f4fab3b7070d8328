import type { Environment } from "@marcbachmann/cel-js";
import { celMapOf, isSequence } from "../cel-value.ts";
import { spendComparison } from "../meter.ts";

/** What can be ordered. Integers are bigints. */
type Ordered = string | number | bigint | boolean | Date;

function isBefore(one: Ordered, other: Ordered): boolean {
  if (isSequence(one) || isSequence(other)) throw new Error("no such overload: lists and bytes have no order");
  return one < other;
}
const first = (list: readonly Ordered[], name: string): Ordered => {
  const [one] = list;
  if (one === undefined) throw new Error(`${name} called on empty list`);
  return one;
};

/** Equality as `==` has it for what JSON can say, with numbers of both kinds. */
function isEqual(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) {
    // An integer equals a double of the same value.
    return one === other || (isNumber(one) && isNumber(other) && one == other);
  }
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, index) => isEqual(value, other[index]));
  }
  const [left, right] = [celMapOf(one), celMapOf(other)];
  if (left === undefined || right?.size !== left.size) return one === other;
  return [...left].every(([key, value]) => right.has(key) && isEqual(value, right.get(key)));
}
const isNumber = (value: unknown): value is number | bigint => typeof value === "number" || typeof value === "bigint";

/** Equality with a value, which spends what it may cost. */
const equals =
  (value: unknown) =>
  (one: unknown): boolean => {
    spendComparison(one, value);
    return isEqual(one, value);
  };

const has = (list: readonly unknown[], value: unknown): boolean => list.some(equals(value));

type TwoLists = readonly [one: readonly unknown[], other: readonly unknown[]];

class Sets {
  contains(list: readonly unknown[], others: readonly unknown[]): boolean {
    return others.every((one) => has(list, one));
  }
  intersects(list: readonly unknown[], others: readonly unknown[]): boolean {
    return others.some((one) => has(list, one));
  }
}
const sets = new Sets();

/** Kubernetes' functions on lists, and CEL's extension for sets. */
export function addListFunctions(environment: Environment): void {
  const add = (signature: string, handler: (...given: never[]) => unknown): unknown =>
    environment.registerFunction(signature, handler, { async: false });
  add(
    "list.isSorted(): bool",
    // The index is above 0.
    (list: readonly Ordered[]) => list.every((one, index) => index === 0 || !isBefore(one, list[index - 1] as Ordered)),
  );
  add("list.sum(): dyn", (list: readonly Ordered[]) =>
    list.reduce((sum: Ordered, one) => (typeof sum === typeof one ? plus(sum, one) : unsummable()), zeroOf(list[0])),
  );
  add("list.min(): dyn", (list: readonly Ordered[]) =>
    list.reduce((least, one) => (isBefore(one, least) ? one : least), first(list, "min")),
  );
  add("list.max(): dyn", (list: readonly Ordered[]) =>
    list.reduce((most, one) => (isBefore(most, one) ? one : most), first(list, "max")),
  );
  add("list.indexOf(dyn): int", (list: readonly unknown[], value: unknown) => BigInt(list.findIndex(equals(value))));
  add("list.lastIndexOf(dyn): int", (list: readonly unknown[], value: unknown) =>
    BigInt(list.findLastIndex(equals(value))),
  );
  environment.registerType("kubernetes.Sets", Sets).registerConstant("sets", "kubernetes.Sets", sets);
  add("kubernetes.Sets.contains(list, list): bool", (_sets: Sets, ...lists: TwoLists) => sets.contains(...lists));
  add("kubernetes.Sets.intersects(list, list): bool", (_sets: Sets, ...lists: TwoLists) => sets.intersects(...lists));
  add(
    "kubernetes.Sets.equivalent(list, list): bool",
    (_sets: Sets, ...[one, other]: TwoLists) => sets.contains(one, other) && sets.contains(other, one),
  );
}

const unsummable = (): never => {
  throw new Error("no such overload: sum of values of different types");
};
/** The sum of nothing is an integer, as in upstream where the type is not known. */
const zeroOf = (one: Ordered | undefined): Ordered => (typeof one === "number" ? 0 : 0n);
function plus(sum: Ordered, one: Ordered): Ordered {
  if (typeof sum === "bigint" && typeof one === "bigint") return sum + one;
  if (typeof sum === "number" && typeof one === "number") return sum + one;
  return unsummable();
}
