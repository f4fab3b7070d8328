import { Optional } from "@marcbachmann/cel-js";
import type { Environment } from "@marcbachmann/cel-js";
import { Duration, UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import { addFunctions } from "../add-functions.ts";
import { celMapOf, isSequence } from "../cel-value.ts";
import { isEqualValue } from "../compare-values.ts";
import { spendComparison } from "../meter.ts";

function isZero(value: unknown): boolean {
  if (isSequence(value)) return value.length === 0;
  if (value instanceof UnsignedInt || value instanceof Duration) return Number(value.valueOf()) === 0;
  return typeof value === "object" && value !== null ? celMapOf(value)?.size === 0 : !value;
}

/** The values of those optionals that have one. */
const valuesOf = (list: readonly Optional[]): unknown[] => list.flatMap((one) => (one.hasValue() ? [one.value()] : []));

/** CEL's optional values. `or`, `orValue`, `optMap` and `optFlatMap` are macros. */
export function addOptionalFunctions(environment: Environment): void {
  environment.registerOperator("optional<A> == optional<A>", (one: Optional, other: Optional) => {
    spendComparison(one, other);
    return isEqualValue(one, other);
  });
  addFunctions(environment, {
    "optional.hasValue(): bool": (one: Optional) => one.hasValue(),
    "optional<A>.value(): A": (one: Optional) => {
      if (!one.hasValue()) throw new Error("optional.none() dereference");
      return one.value();
    },
    "OptionalNamespace.none(): optional<A>": () => Optional.none(),
    "OptionalNamespace.of(A): optional<A>": (_optional: unknown, value: unknown) => Optional.of(value),
    "OptionalNamespace.ofNonZeroValue(A): optional<A>": (_optional: unknown, value: unknown) =>
      isZero(value) ? Optional.none() : Optional.of(value),
    "OptionalNamespace.unwrap(list<optional<A>>): list<A>": (_optional: unknown, list: readonly Optional[]) =>
      valuesOf(list),
    "list<optional<A>>.unwrapOpt(): list<A>": valuesOf,
  });
}
