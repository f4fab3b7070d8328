import type { ASTNode, Environment } from "@marcbachmann/cel-js";
import { CostBudget, OverBudget, withBudget } from "./cost-budget.ts";
import { meter } from "./meter.ts";
import { prepareExpression } from "./prepare-expression.ts";

/** An expression cannot be compiled. The message says why, for the person who wrote it. */
export class ExpressionError extends Error {}

/** The maximum length of an expression. Upstream's examples have a tenth of it. */
const maximumExpressionLength = 16 * 1024;
/** The limit for all patterns of an expression together, in the unit of `patternSize`: two of the largest. */
const largestPatterns = 20_000;
/** A CEL expression (https://cel.dev), checked and ready. */
export interface Expression {
  readonly source: string;
  /** The type of its result as far as the type check finds it: `bool`, `dyn`, `list<string>`. */
  readonly type: string;
  /** Every part of the expression, the root included, as the author wrote it, but with unescaped fields. */
  readonly nodes: readonly ASTNode[];
  /** How long its patterns take to compile, in the unit of `patternSize`. */
  readonly patternsSize: number;
  /** Throws an Error for a missing value or a wrong type, and OverBudget. The message may quote values. */
  evaluate(variables: Readonly<Record<string, unknown>>, budget: CostBudget): unknown;
}

interface CompileOptions {
  /** The variables and functions that the expression may use. */
  readonly environment: Environment;
  /** Whether fields may be written with escapes, as `kubernetes__dot__io`. */
  readonly hasEscapedFields?: boolean;
}

/**
 * Compiles an expression so that its evaluation spends steps, because the library does not limit its work. Throws ExpressionError for a
 * syntax or type error, an unknown name, and a pattern that RE2 does not accept.
 */
export function compileExpression(
  source: string,
  { environment, hasEscapedFields = false }: CompileOptions,
): Expression {
  if (source.length > maximumExpressionLength) throw new ExpressionError("the expression is longer than 16 KiB");
  const program = compileStep(() => environment.parse(source));
  const { nodes, patternsSize, checkLiterals } = compileStep(() =>
    prepareExpression(program.ast, { hasEscapedFields }),
  );
  if (patternsSize > largestPatterns) throw new ExpressionError("the regular expressions are too large together");
  const checked = program.check();
  if (!checked.valid) throw new ExpressionError(summaryOf(checked.error));
  compileStep(checkLiterals);
  meter(program.ast);
  return {
    source,
    type: checked.type ?? "dyn",
    nodes,
    patternsSize,
    evaluate(variables, budget) {
      try {
        const result: unknown = withBudget(budget, () => program(variables));
        // CEL's `a || b` continues when `a` fails, but an expression must not continue after the budget stopped it.
        if (!budget.isSpent) return result;
      } catch (error) {
        // A loop fails with its first error, which may come before the one that stopped it.
        if (!budget.isSpent) throw error;
      }
      throw new OverBudget();
    },
  };
}

/** Runs a step of the compilation. Its errors become ExpressionErrors. */
function compileStep<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new ExpressionError(summaryOf(error));
  }
}

const longestMessage = 1024;

/** The library's messages, and upstream's message for each. */
const upstreamsWords: readonly (readonly [RegExp, string])[] = [
  [/^No such key: (index out of bounds), index (-?\d+).*/, "$1: $2"],
  [/^No such key/, "no such key"],
  [/^modulo by zero/, "modulus by zero"],
  [/^integer overflow: .*/, "integer overflow"],
  [/^(found no matching overload.*?)_\(/, "$1("],
];

/**
 * The first line of a message, in upstream's words and without the suffix of Signet's own functions. The library shows the place below the
 * first line, and can quote a value of any length before that.
 */
export function summaryOf(error: unknown): string {
  if (!(error instanceof Error)) return "not a CEL expression";
  const line = error.message.slice(0, longestMessage).toWellFormed().split("\n", 1)[0] ?? "";
  return upstreamsWords.reduce((words, [theirs, upstreams]) => words.replace(theirs, upstreams), line);
}
