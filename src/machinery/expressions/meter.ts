import { Optional } from "@marcbachmann/cel-js";
import { Duration } from "@marcbachmann/cel-js/evaluator";
import { celMapOf, isPlainObject, isSequence } from "./cel-value.ts";
import { spendSteps } from "./cost-budget.ts";
import { durationOf, nanosecondsOf, timestampOf } from "./functions/time-text.ts";

/**
 * A node as the library makes it (8.0.0). `evaluate` and `handle` are called once for each evaluation: `evaluate` before the parts are
 * evaluated, `handle` with their values. A test checks that both exist and are called, so that an upgrade of the library that changes this
 * fails.
 */
interface LibraryNode {
  readonly op: string;
  readonly args: unknown;
  readonly input: string;
  readonly meta: {
    readonly alternate?: LibraryNode;
    readonly macro?: { evaluate(evaluator: unknown, macro: unknown, context: unknown): unknown };
    evaluate(evaluator: unknown, node: LibraryNode, context: unknown): unknown;
  };
  evaluate(evaluator: unknown, node: LibraryNode, context: unknown): unknown;
  handle?: (...given: unknown[]) => unknown;
}

/** Lets every part of a checked expression spend steps when it is evaluated. */
export function meter(root: unknown): void {
  const seen = new Set<object>();
  const [writtenKeys, soughtKeys]: [LibraryNode[], LibraryNode[]] = [[], []];
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== "object" || next === null || seen.has(next)) continue;
    seen.add(next);
    if (!isLibraryNode(next)) {
      if (isListOrRecord(next)) waiting.push(...Object.values(next));
      continue;
    }
    waiting.push(next.args, next.meta.alternate, next.meta.macro);
    meterNode(next);
    writtenKeys.push(...writtenKeysIn(next));
    soughtKeys.push(...soughtKeysIn(next));
  }
  for (const key of writtenKeys) readThrough(key, checkedKey);
  for (const key of soughtKeys) readThrough(key, keyOf);
}

const isLibraryNode = (value: object): value is LibraryNode =>
  "op" in value && "args" in value && "meta" in value && "evaluate" in value;

/** Whether a value is a list of arguments, or the record of a macro. */
const isListOrRecord = (value: object): boolean => Array.isArray(value) || isPlainObject(value);

/** Operators that only pass on the values of their parts, which have spent steps for them already. */
const passThroughOperators: ReadonlySet<string> = new Set([
  "?:",
  "||",
  "&&",
  "accuValue",
  "accuInc",
  "accuPush",
  "!_",
  "-_",
]);
const comparisonOperators: ReadonlySet<string> = new Set(["==", "!=", "in"]);

function meterNode(node: LibraryNode): void {
  const { op, meta } = node;
  const countsResult = !passThroughOperators.has(op);
  const { handle } = node;
  if (handle !== undefined && comparisonOperators.has(op)) {
    node.handle = (...given) => {
      const [left, right, ...rest] = given;
      if (op !== "in") spendComparison(left, right);
      else if (Array.isArray(right)) for (const one of right as unknown[]) spendComparison(left, one);
      else return handle(keyOf(left), right, ...rest);
      return handle(...given);
    };
  }
  // oxlint-disable-next-line max-params -- what the library gives
  node.evaluate = (evaluator, _node, context) => {
    spendSteps(1);
    let value: unknown;
    try {
      value =
        meta.alternate !== undefined
          ? meta.alternate.evaluate(evaluator, meta.alternate, context)
          : meta.macro !== undefined
            ? meta.macro.evaluate(evaluator, meta.macro, context)
            : op === "map"
              ? mapOf(node, evaluator, context)
              : meta.evaluate(evaluator, node, context);
    } catch (error) {
      if (isNewFailure(error)) spendSteps(stepsOfFailure(node));
      throw error;
    }
    // The library throws and catches an error where an index is out of range.
    if (op === "[?]" && value === Optional.none()) spendSteps(stepsOfFailure(node));
    if (countsResult) spendSteps(stepsOfResult(value));
    return op === "value" ? value : inRange(value);
  };
}

/** The errors whose cost was spent. An error passes through every part around the failed part, but its cost is spent once. */
const failures = new WeakSet<object>();

function isNewFailure(error: unknown): boolean {
  if (typeof error !== "object" || error === null || failures.has(error)) return false;
  failures.add(error);
  return true;
}

/** An error takes some microseconds, because the library quotes the place in the source. An expression may fail for each item of a loop. */
const stepsOfFailure = ({ input }: LibraryNode): number => 100 + input.length / 20;

/** The value of a map literal. The library would make a plain object, whose keys are all strings, and leave some names out. */
function mapOf(node: LibraryNode, ...[evaluator, context]: readonly [unknown, unknown]): Map<unknown, unknown> {
  const entries = node.args as readonly (readonly [LibraryNode, LibraryNode])[];
  const valueOf = (part: LibraryNode): unknown => part.evaluate(evaluator, part, context);
  return new Map(entries.map(([key, value]) => [valueOf(key), valueOf(value)] as const));
}

/**
 * Refuses values outside CEL's ranges, and normalises durations: the library makes integers of any size, dates of any year, and durations
 * with negative nanoseconds.
 */
function inRange(value: unknown): unknown {
  if (typeof value === "bigint" && BigInt.asIntN(64, value) !== value) throw new Error("integer overflow");
  if (value instanceof Date) timestampOf(value.getTime());
  return value instanceof Duration ? durationOf(nanosecondsOf(value)) : value;
}

/** The keys of a map literal. */
const writtenKeysIn = ({ op, args }: LibraryNode): LibraryNode[] =>
  op === "map" ? nodesOf((args as readonly (readonly unknown[])[]).map(([key]) => key)) : [];

/** The expressions in the brackets behind a map or a list. */
const soughtKeysIn = ({ op, args }: LibraryNode): LibraryNode[] =>
  op === "[]" || op === "[?]" ? nodesOf((args as readonly unknown[]).slice(1)) : [];

const nodesOf = (parts: readonly unknown[]): LibraryNode[] =>
  parts.filter((part): part is LibraryNode => typeof part === "object" && part !== null && isLibraryNode(part));

/** Replaces the value of a node with what `read` returns for it. */
function readThrough(node: LibraryNode, read: (value: unknown) => unknown): void {
  const { evaluate } = node;
  // oxlint-disable-next-line max-params -- what the library gives
  node.evaluate = (evaluator, own, context) => read(evaluate.call(node, evaluator, own, context));
}

/**
 * The key to look up: a double without a fraction finds the equal integer key (upstream: cel-go's `baseMap.Find`). Throws an Error for
 * lists and bytes, which are no keys.
 */
function keyOf(value: unknown): unknown {
  if (isSequence(value)) throw new Error("unsupported key type: lists and bytes are no keys");
  return typeof value === "number" && Number.isInteger(value) ? BigInt(value) : value;
}

/** A key as it is written, which a map keeps. Throws an Error for lists and bytes, which are no keys. */
function checkedKey(value: unknown): unknown {
  keyOf(value);
  return value;
}

/**
 * A large value costs steps each time that it is read: loops copy the keys of a map, and texts are copied too. So does a deep value: to
 * find the type of a list or a map, operators and functions follow the first value of each level to the last level.
 */
function stepsOfResult(value: unknown): number {
  let steps = typeof value === "string" ? value.length / 10 : 0;
  for (let part = value; typeof part === "object" && part !== null; part = firstOf(part)) {
    steps += part === value ? sizeOf(part) : 1;
  }
  return steps;
}

function sizeOf(value: object): number {
  if (isSequence(value)) return value.length / 10;
  if (value instanceof Map) return value.size / 10;
  // The library looks at all keys of a plain object at every use.
  return isPlainObject(value) ? Object.keys(value).length : 0;
}

function firstOf(value: object): unknown {
  if (Array.isArray(value)) return value[0];
  return value instanceof Map ? value.values().next().value : undefined;
}

/**
 * Spends the steps that a comparison of two values can take. It walks through the values as the comparison does, but the budget stops it: a
 * list that holds another list twice, forty levels deep, is small, but nobody can walk through it in a useful time.
 */
export function spendComparison(left: unknown, right: unknown): void {
  spendSteps(1);
  if (left === right) return;
  if (typeof left === "string" && typeof right === "string") {
    if (left.length === right.length) spendSteps(left.length / 10);
  } else if (Array.isArray(left) && Array.isArray(right)) {
    if (left.length !== right.length) return;
    for (let index = 0; index < left.length; index++) spendComparison(left[index], right[index]);
  } else if (left instanceof Optional && right instanceof Optional) {
    if (left.hasValue() && right.hasValue()) spendComparison(left.value(), right.value());
  } else {
    const [entries, others] = [celMapOf(left), celMapOf(right)];
    if (entries === undefined || others === undefined) return;
    spendSteps(entries.size + others.size);
    if (entries.size === others.size) for (const [key, one] of entries) spendComparison(one, others.get(key));
  }
}
