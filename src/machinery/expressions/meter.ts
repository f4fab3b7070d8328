import { Optional } from "@marcbachmann/cel-js";
import { Duration } from "@marcbachmann/cel-js/evaluator";
import { celMapOf, isPlainObject, isSequence } from "./cel-value.ts";
import { spendSteps } from "./cost-budget.ts";
import { durationOf, nanosecondsOf, timestampOf } from "./functions/time-text.ts";

/**
 * A node as the library makes it (8.0.0). `evaluate` and `handle` are called once for each evaluation, on the way down and
 * with the values of the parts. That they are there, and are called, is held by a test: an upgrade that changes them fails it.
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
      if (isPlain(next)) waiting.push(...Object.values(next));
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

/** Lists of arguments, and the records of macros. */
const isPlain = (value: object): boolean => Array.isArray(value) || isPlainObject(value);

/** Operators that only hand on the values of their parts, which have spent steps for them. */
const passing: ReadonlySet<string> = new Set(["?:", "||", "&&", "accuValue", "accuInc", "accuPush", "!_", "-_"]);
const comparing: ReadonlySet<string> = new Set(["==", "!=", "in"]);

function meterNode(node: LibraryNode): void {
  const { op, meta } = node;
  const countsResult = !passing.has(op);
  const { handle } = node;
  if (handle !== undefined && comparing.has(op)) {
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

/** The errors whose cost was spent. An error passes every part around the one that failed, and costs once. */
const failures = new WeakSet<object>();

function isNewFailure(error: unknown): boolean {
  if (typeof error !== "object" || error === null || failures.has(error)) return false;
  failures.add(error);
  return true;
}

/** An error takes some microseconds, and the library shows the place in the source. An expression may fail for each item of a loop. */
const stepsOfFailure = ({ input }: LibraryNode): number => 100 + input.length / 20;

/**
 * The value of a map that is written out. The library makes a plain object, whose keys are all strings, and leaves some names
 * out.
 */
function mapOf(node: LibraryNode, ...[evaluator, context]: readonly [unknown, unknown]): Map<unknown, unknown> {
  const entries = node.args as readonly (readonly [LibraryNode, LibraryNode])[];
  const valueOf = (part: LibraryNode): unknown => part.evaluate(evaluator, part, context);
  return new Map(entries.map(([key, value]) => [valueOf(key), valueOf(value)] as const));
}

/** The library makes integers of any size, dates of any year, and durations with a negative part. */
function inRange(value: unknown): unknown {
  if (typeof value === "bigint" && BigInt.asIntN(64, value) !== value) throw new Error("integer overflow");
  if (value instanceof Date) timestampOf(value.getTime());
  return value instanceof Duration ? durationOf(nanosecondsOf(value)) : value;
}

/** The keys of a map that is written out. */
const writtenKeysIn = ({ op, args }: LibraryNode): LibraryNode[] =>
  op === "map" ? nodesOf((args as readonly (readonly unknown[])[]).map(([key]) => key)) : [];

/** What is in the brackets behind a map or a list. */
const soughtKeysIn = ({ op, args }: LibraryNode): LibraryNode[] =>
  op === "[]" || op === "[?]" ? nodesOf((args as readonly unknown[]).slice(1)) : [];

const nodesOf = (parts: readonly unknown[]): LibraryNode[] =>
  parts.filter((part): part is LibraryNode => typeof part === "object" && part !== null && isLibraryNode(part));

/** Lets a node have the value that `read` makes of its own. */
function readThrough(node: LibraryNode, read: (value: unknown) => unknown): void {
  const { evaluate } = node;
  // oxlint-disable-next-line max-params -- what the library gives
  node.evaluate = (evaluator, own, context) => read(evaluate.call(node, evaluator, own, context));
}

/** A double without a fraction finds the key that is the same integer (upstream: cel-go's `baseMap.Find`). Throws for what is no key. */
function keyOf(value: unknown): unknown {
  if (isSequence(value)) throw new Error("unsupported key type: lists and bytes are no keys");
  return typeof value === "number" && Number.isInteger(value) ? BigInt(value) : value;
}

/** A key as it is written, which a map keeps. Throws for what is no key. */
function checkedKey(value: unknown): unknown {
  keyOf(value);
  return value;
}

/**
 * What is large costs something each time that it is read: loops copy the keys of a map, and texts are copied too. What is deep
 * does too: operators and functions look for the type of a list or a map through the first of its values, down to the last.
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
  // The library looks at all keys of a plain object, whatever it is used for.
  return isPlainObject(value) ? Object.keys(value).length : 0;
}

function firstOf(value: object): unknown {
  if (Array.isArray(value)) return value[0];
  return value instanceof Map ? value.values().next().value : undefined;
}

/**
 * Spends for all that a comparison of two values can look at. It walks as the comparison does, and is stopped with the budget:
 * a list that holds another one twice, forty levels deep, is small, but cannot be walked through in any useful time.
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
