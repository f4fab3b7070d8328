import { spendSteps } from "./cost-budget.ts";

/**
 * A node as the library makes it (8.0.0). `evaluate` and `handle` are called once for each evaluation, on the way down and
 * with the values of the parts. That they are there, and are called, is held by a test: an upgrade that changes them fails it.
 */
interface LibraryNode {
  readonly op: string;
  readonly args: unknown;
  readonly meta: {
    readonly alternate?: LibraryNode;
    readonly macro?: { evaluate(evaluator: unknown, macro: unknown, context: unknown): unknown };
    readonly evaluate: (evaluator: unknown, node: LibraryNode, context: unknown) => unknown;
  };
  evaluate(evaluator: unknown, node: LibraryNode, context: unknown): unknown;
  handle?: (...given: unknown[]) => unknown;
}

/** Lets every part of a checked expression spend steps when it is evaluated. */
export function meter(root: unknown): void {
  const seen = new Set<object>();
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
  }
}

const isLibraryNode = (value: object): value is LibraryNode =>
  "op" in value && "args" in value && "meta" in value && "evaluate" in value;

/** Lists of arguments, and the records of macros. */
const isPlain = (value: object): boolean => Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;

/** What only hands on the values of its parts, which have spent for them. */
const passing: ReadonlySet<string> = new Set(["?:", "||", "&&", "accuValue", "accuInc", "accuPush", "!_", "-_"]);
const comparing: ReadonlySet<string> = new Set(["==", "!=", "in"]);

function meterNode(node: LibraryNode): void {
  const { op, meta } = node;
  const countsResult = !passing.has(op);
  const { handle } = node;
  if (handle !== undefined && comparing.has(op)) {
    node.handle = (left, right, ...rest) => {
      spendSteps(op === "in" ? sizeOf(right) : Math.min(sizeOf(left), sizeOf(right)));
      return handle(left, right, ...rest);
    };
  } else if (handle !== undefined && op === "rcall") {
    const [name] = node.args as [string];
    node.handle = (given, ...rest) => {
      spendSteps(stepsOfCall(name, given as readonly unknown[]));
      return handle(given, ...rest);
    };
  }
  node.evaluate = (evaluator, _node, context) => {
    spendSteps(1);
    const value =
      meta.alternate !== undefined
        ? meta.alternate.evaluate(evaluator, meta.alternate, context)
        : meta.macro !== undefined
          ? meta.macro.evaluate(evaluator, meta.macro, context)
          : meta.evaluate(evaluator, node, context);
    if (countsResult) {
      if (typeof value === "string") spendSteps(value.length / 10);
      else if (Array.isArray(value)) spendSteps(value.length / 10);
    }
    return value;
  };
}

/** Calls whose result can be larger than their arguments, or that are slow. They spend before they work. */
function stepsOfCall(name: string, [receiver, ...given]: readonly unknown[]): number {
  if (name === "join" && Array.isArray(receiver)) {
    const texts = receiver.reduce<number>((sum, one) => sum + (typeof one === "string" ? one.length : 1), 0);
    return receiver.length + (texts + receiver.length * lengthOf(given[0])) / 10;
  }
  if (name.startsWith("get") && receiver instanceof Date && given.length > 0) return stepsOfTimeZone;
  return Array.isArray(receiver) ? receiver.length : lengthOf(receiver) / 10;
}

/** Formatting a date in a time zone takes as long as this many steps. */
const stepsOfTimeZone = 500;

const lengthOf = (value: unknown): number => (typeof value === "string" ? value.length : 0);

/** How many values a comparison may have to look at, and a tenth of the characters. */
export function sizeOf(value: unknown): number {
  if (typeof value === "string") return 1 + value.length / 10;
  if (typeof value !== "object" || value === null) return 1;
  let size = 1;
  for (const one of Array.isArray(value) ? (value as unknown[]) : Object.values(value)) size += sizeOf(one);
  return size;
}
