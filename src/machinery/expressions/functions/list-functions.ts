import { Optional } from "@marcbachmann/cel-js";
import type { Environment } from "@marcbachmann/cel-js";
import { Duration, UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import { addFunctions, forTypes } from "../add-functions.ts";
import { compareValues, isEqualValue, orderedTypes } from "../compare-values.ts";
import { spendSteps } from "../cost-budget.ts";
import { spendComparison } from "../meter.ts";

type List = readonly unknown[];

/** Returns a test for equality with a value. The test spends steps. */
const equals =
  (value: unknown) =>
  (one: unknown): boolean => {
    spendComparison(one, value);
    return isEqualValue(one, value);
  };

const has = (list: List, value: unknown): boolean => list.some(equals(value));
const contains = (list: List, others: List): boolean => others.every((one) => has(list, one));

/** The least value of a list, or the greatest when `sign` is -1. */
function extreme(list: List, { name, sign }: { readonly name: string; readonly sign: 1 | -1 }): unknown {
  if (list.length === 0) throw new Error(`${name} called on empty list`);
  return list.reduce((found, one) => (sign * compareValues(one, found) < 0 ? one : found));
}

const isSorted = (list: List): boolean =>
  list.every((one, index) => index === 0 || compareValues(list[index - 1], one) <= 0);

function sum(list: List): unknown {
  const [first = 0n, ...rest] = list;
  return rest.reduce((total, one) => {
    if (typeof total === "bigint" && typeof one === "bigint") return total + one;
    if (typeof total === "number" && typeof one === "number") return total + one;
    if (total instanceof Duration && one instanceof Duration) return total.addDuration(one);
    if (total instanceof UnsignedInt && one instanceof UnsignedInt) {
      return new UnsignedInt(total.valueOf() + one.valueOf());
    }
    throw new Error("no such overload: sum of values of different types");
  }, first);
}

function flattened(list: List, depth: bigint): unknown[] {
  if (depth < 0n) throw new Error("level must be non-negative");
  const flat: unknown[] = [];
  const add = (items: List, left: bigint): void => {
    spendSteps(2 * items.length);
    for (const one of items) {
      if (Array.isArray(one) && left > 0n) add(one, left - 1n);
      else flat.push(one);
    }
  };
  add(list, depth);
  return flat;
}

function sliced(list: List, ...[start, end]: readonly [bigint, bigint]): unknown[] {
  const what = `cannot slice(${start}, ${end})`;
  if (start < 0n || end < 0n) throw new Error(`${what}, negative indexes not supported`);
  if (start > end) throw new Error(`${what}, start index must be less than or equal to end index`);
  if (BigInt(list.length) < end) throw new Error(`${what}, list is length ${list.length}`);
  return list.slice(Number(start), Number(end));
}

function distinct(list: List): unknown[] {
  const found: unknown[] = [];
  for (const one of list) if (!has(found, one)) found.push(one);
  return found;
}

/** The numbers from 0 up to, but not including, a limit. Spends steps before it makes them. */
function range(limit: bigint): bigint[] {
  const length = Math.max(0, Number(limit));
  spendSteps(length);
  return Array.from({ length }, (_, index) => BigInt(index));
}

/** CEL's extensions for lists and sets, and Kubernetes' functions on lists. */
export function addListFunctions(environment: Environment): void {
  class Sets {
    readonly name = "sets";
  }
  class Lists {
    readonly name = "lists";
  }
  environment
    .registerType("kubernetes.Sets", Sets)
    .registerConstant("sets", "kubernetes.Sets", new Sets())
    .registerType("kubernetes.Lists", Lists)
    .registerConstant("lists", "kubernetes.Lists", new Lists());
  addFunctions(environment, {
    ...forTypes(orderedTypes, {
      "list<T>.sort(): list<T>": (list: List) => list.toSorted(compareValues),
      "list<T>.isSorted(): bool": isSorted,
      "list<T>.min(): T": (list: List) => extreme(list, { name: "min", sign: 1 }),
      "list<T>.max(): T": (list: List) => extreme(list, { name: "max", sign: -1 }),
    }),
    ...forTypes(["int", "uint", "double", "google.protobuf.Duration"], { "list<T>.sum(): T": sum }),
    "list<T>.indexOf(T): int": (list: List, value: unknown) => BigInt(list.findIndex(equals(value))),
    "list<T>.lastIndexOf(T): int": (list: List, value: unknown) => BigInt(list.findLastIndex(equals(value))),
    "list<T>.slice(int, int): list<T>": sliced,
    "list<list<T>>.flatten(): list<T>": (list: List) => flattened(list, 1n),
    "list<T>.flatten(): list<dyn>": (list: List) => flattened(list, 1n),
    "list.flatten(int): list<dyn>": flattened,
    "list<T>.reverse(): list<T>": (list: List) => list.toReversed(),
    "list<T>.distinct(): list<T>": distinct,
    "list<T>.first(): optional<T>": (list: List) => (list.length === 0 ? Optional.none() : Optional.of(list[0])),
    "list<T>.last(): optional<T>": (list: List) => (list.length === 0 ? Optional.none() : Optional.of(list.at(-1))),
    "kubernetes.Lists.range(int): list<int>": (_lists: Lists, limit: bigint) => range(limit),
    "kubernetes.Sets.contains(list<T>, list<T>): bool": (_sets: Sets, ...[one, other]: [List, List]) =>
      contains(one, other),
    "kubernetes.Sets.intersects(list<T>, list<T>): bool": (_sets: Sets, ...[one, other]: [List, List]) =>
      other.some((value) => has(one, value)),
    "kubernetes.Sets.equivalent(list<T>, list<T>): bool": (_sets: Sets, ...[one, other]: [List, List]) =>
      contains(one, other) && contains(other, one),
  });
}
