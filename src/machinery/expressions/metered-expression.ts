import { Environment } from "@marcbachmann/cel-js";
import type { ASTNode } from "@marcbachmann/cel-js";
import { CostBudget, OverBudget, withBudget } from "./cost-budget.ts";
import { linearPattern, isFound } from "./linear-pattern.ts";
import { meter } from "./meter.ts";

/** An expression cannot be compiled. The message says why, for the person who wrote it. */
export class ExpressionError extends Error {}

/** No expression is longer than this: upstream's examples have a tenth. */
const maximumExpressionLength = 16 * 1024;
const limits = { maxAstNodes: 4000, maxDepth: 60, maxListElements: 1000, maxMapEntries: 1000, maxCallArguments: 16 };

/** An own function, because the library's uses the runtime's expressions, whose time can grow exponentially. */
const linearMatches = "matchesInLinearTime";
/** Functions of the library that CEL in Kubernetes does not have. */
const foreignFunctions: ReadonlySet<string> = new Set(["json", "hex", "base64", "at", linearMatches]);

/**
 * What expressions may use. Lists may mix types, as the values of `format` do: the library would otherwise refuse a list of a
 * value from an object, whose type is not known, and a text. Variables and functions are registered on it, then it is handed to
 * `compileExpression`.
 */
export const expressionEnvironment = (): Environment =>
  new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false, limits }).registerFunction(
    `string.${linearMatches}(string): bool`,
    isFound,
    { async: false },
  );

/** A CEL expression (https://cel.dev), checked and ready. */
export interface Expression {
  readonly source: string;
  /** The type of its result as far as it is known before it is evaluated: `bool`, `dyn`, `list<string>`. */
  readonly type: string;
  /** Every part of it, the root included, as the author wrote it. */
  readonly nodes: readonly ASTNode[];
  /** Throws an Error for a value that is not there, a wrong type, or OverBudget. Its message may quote values. */
  evaluate(variables: Readonly<Record<string, unknown>>, budget: CostBudget): unknown;
}

/**
 * Compiles an expression and counts its work: the library has no limit on it. Throws ExpressionError for a syntax or type
 * error, a name that is unknown, and a pattern that is not one of RE2.
 */
export function compileExpression(source: string, environment: Environment): Expression {
  if (source.length > maximumExpressionLength) throw new ExpressionError("the expression is longer than 16 KiB");
  const program = readable(() => environment.parse(source));
  const nodes = nodesOf(program.ast);
  for (const node of nodes) useLinearMatches(node);
  const checked = program.check();
  if (!checked.valid) throw new ExpressionError(summaryOf(checked.error));
  meter(program.ast);
  return {
    source,
    type: checked.type ?? "dyn",
    nodes,
    evaluate(variables, budget) {
      const result: unknown = withBudget(budget, () => program(variables));
      // `a || b` continues when `a` fails, but an expression must not continue after it was stopped.
      if (budget.isSpent) throw new OverBudget();
      return result;
    },
  };
}

function readable<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new ExpressionError(summaryOf(error));
  }
}

const longestMessage = 1024;

/** The library's messages show the place below the first line, and can quote a value of any length before it. */
export const summaryOf = (error: unknown): string =>
  error instanceof Error ? (error.message.slice(0, longestMessage).split("\n", 1)[0] ?? "") : "not a CEL expression";

function nodesOf(root: ASTNode): ASTNode[] {
  const found: ASTNode[] = [];
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (Array.isArray(next)) waiting.push(...(next as unknown[]));
    else if (isNode(next)) {
      found.push(next);
      waiting.push(next.args);
    }
  }
  return found;
}

const isNode = (value: unknown): value is ASTNode =>
  typeof value === "object" && value !== null && "op" in value && "args" in value;

/** A call of `matches`, whose one argument is the pattern. */
export const isPatternCall = (node: ASTNode): node is Extract<ASTNode, { readonly op: "rcall" }> =>
  node.op === "rcall" && node.args[0] === linearMatches;

function useLinearMatches(node: ASTNode): void {
  if (node.op !== "rcall") return;
  const [name, , [pattern]] = node.args;
  if (foreignFunctions.has(name)) throw new ExpressionError(`undeclared reference to '${name}'`);
  if (name !== "matches") return;
  if (pattern?.op === "value") readable(() => linearPattern(String(pattern.args)));
  node.args[0] = linearMatches;
}
