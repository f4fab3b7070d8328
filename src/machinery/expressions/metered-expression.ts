import type { ASTNode, Environment } from "@marcbachmann/cel-js";
import { CostBudget, OverBudget, withBudget } from "./cost-budget.ts";
import { meter } from "./meter.ts";
import { prepareExpression } from "./prepare-expression.ts";

/** An expression cannot be compiled. The message says why, for the person who wrote it. */
export class ExpressionError extends Error {}

/** No expression is longer than this: upstream's examples have a tenth. */
const maximumExpressionLength = 16 * 1024;
/** The patterns of an expression, in the unit of `patternSize`: two of the largest. */
const largestPatterns = 20_000;
/** A CEL expression (https://cel.dev), checked and ready. */
export interface Expression {
  readonly source: string;
  /** The type of its result as far as it is known before it is evaluated: `bool`, `dyn`, `list<string>`. */
  readonly type: string;
  /** Every part of it, the root included, as the author wrote it, but for escapes. */
  readonly nodes: readonly ASTNode[];
  /** How long its patterns take to compile, in the unit of `patternSize`. */
  readonly patternsSize: number;
  /** Throws an Error for a value that is not there, a wrong type, or OverBudget. Its message may quote values. */
  evaluate(variables: Readonly<Record<string, unknown>>, budget: CostBudget): unknown;
}

interface CompileOptions {
  /** The variables and functions that it may use. */
  readonly environment: Environment;
  /** Whether fields may be written with escapes, as `kubernetes__dot__io`. */
  readonly hasEscapedFields?: boolean;
}

/**
 * Compiles an expression and counts its work: the library has no limit on it. Throws ExpressionError for a syntax or type
 * error, a name that is unknown, and a pattern that is not one of RE2.
 */
export function compileExpression(
  source: string,
  { environment, hasEscapedFields = false }: CompileOptions,
): Expression {
  if (source.length > maximumExpressionLength) throw new ExpressionError("the expression is longer than 16 KiB");
  const program = readable(() => environment.parse(source));
  const { nodes, patternsSize, checkLiterals } = readable(() => prepareExpression(program.ast, { hasEscapedFields }));
  if (patternsSize > largestPatterns) throw new ExpressionError("the regular expressions are too large together");
  const checked = program.check();
  if (!checked.valid) throw new ExpressionError(summaryOf(checked.error));
  readable(checkLiterals);
  meter(program.ast);
  return {
    source,
    type: checked.type ?? "dyn",
    nodes,
    patternsSize,
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

/** Messages of the library, and what upstream's says in their place. */
const upstreamsWords: readonly (readonly [RegExp, string])[] = [
  [/^No such key: (index out of bounds), index (-?\d+).*/, "$1: $2"],
  [/^No such key/, "no such key"],
  [/^modulo by zero/, "modulus by zero"],
  [/^integer overflow: .*/, "integer overflow"],
  [/^(found no matching overload.*?)_\(/, "$1("],
];

/**
 * The first line of a message, without the suffix of our own functions, and in upstream's words: the library shows the place below it,
 * and can quote a value of any length before it.
 */
export function summaryOf(error: unknown): string {
  if (!(error instanceof Error)) return "not a CEL expression";
  const line = error.message.slice(0, longestMessage).split("\n", 1)[0] ?? "";
  return upstreamsWords.reduce((words, [theirs, upstreams]) => words.replace(theirs, upstreams), line);
}
