import { Optional } from "@marcbachmann/cel-js";
import { Duration, UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import { celMapOf, isSequence } from "./cel-value.ts";
import { spendSteps } from "./cost-budget.ts";

/** The types whose values have an order. */
export const orderedTypes = [
  "int",
  "uint",
  "double",
  "bool",
  "google.protobuf.Duration",
  "google.protobuf.Timestamp",
  "string",
  "bytes",
];

/**
 * Compares two values for sorting: negative, zero or positive. Spends steps for it. Throws an Error for values of two types, or without an
 * order.
 */
export function compareValues(one: unknown, other: unknown): number {
  if (one instanceof Uint8Array && other instanceof Uint8Array) {
    spendSteps(1 + Math.min(one.length, other.length) / 10);
    return Buffer.compare(one, other);
  }
  if (one instanceof Duration && other instanceof Duration) {
    spendSteps(1);
    return order(one.seconds, other.seconds) || order(one.nanos, other.nanos);
  }
  const [left, right] = [orderOf(one), orderOf(other)];
  if (typeof left !== typeof right || one instanceof Date !== other instanceof Date) {
    throw new Error("list elements must have the same type");
  }
  spendSteps(typeof left === "string" ? 1 + Math.min(left.length, String(right).length) / 10 : 1);
  return order(left, right);
}

type Ordered = string | number | bigint | boolean;

const order = (one: Ordered, other: Ordered): number => (one < other ? -1 : one > other ? 1 : 0);

function orderOf(value: unknown): Ordered {
  if (value instanceof Date || value instanceof UnsignedInt) return value.valueOf();
  if (value !== null && typeof value !== "object") return value as Ordered; // CEL has no other primitive values
  throw new Error("list elements must be comparable");
}

/** Equality as CEL's `==` defines it. Spends no steps: call `spendComparison` first. */
export function isEqualValue(one: unknown, other: unknown): boolean {
  // Equal parts are not walked, as in `spendComparison`: a list may hold another list twice, forty levels deep.
  if (one === other) return true;
  const [left, right] = [plainNumber(one), plainNumber(other)];
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    // An integer equals a double of the same value.
    return left === right || (isNumber(left) && isNumber(right) && left == right);
  }
  if (isSequence(left) && isSequence(right)) {
    if (Array.isArray(left) !== Array.isArray(right) || left.length !== right.length) return false;
    return left.every((value: unknown, index: number) => isEqualValue(value, right[index]));
  }
  const [entries, others] = [celMapOf(left), celMapOf(right)];
  if (entries !== undefined && others !== undefined) {
    return (
      entries.size === others.size &&
      [...entries].every(([key, value]) => others.has(key) && isEqualValue(value, others.get(key)))
    );
  }
  if (left instanceof Date && right instanceof Date) return left.getTime() === right.getTime();
  if (left instanceof Optional && right instanceof Optional) {
    if (!left.hasValue() || !right.hasValue()) return left.hasValue() === right.hasValue();
    return isEqualValue(left.value(), right.value());
  }
  if (left.constructor !== right.constructor) return false;
  // Values with functions of their own, such as addresses, are equal when their texts are equal. Others are compared by their fields.
  if (left.toString !== Object.prototype.toString) return textOf(left) === textOf(right);
  return isEqualValue(new Map(Object.entries(left)), new Map(Object.entries(right)));
}

const plainNumber = (value: unknown): unknown => (value instanceof UnsignedInt ? value.valueOf() : value);
const isNumber = (value: unknown): value is number | bigint => typeof value === "number" || typeof value === "bigint";
const textOf = (value: { toString(): string }): string => value.toString();
