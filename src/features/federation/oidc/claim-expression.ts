import type { ASTNode } from "@marcbachmann/cel-js";
import { CostBudget, OverBudget } from "../../../machinery/expressions/cost-budget.ts";
import { kubernetesEnvironment } from "../../../machinery/expressions/kubernetes-environment.ts";
import {
  compileExpression as compile,
  ExpressionError,
  summaryOf,
} from "../../../machinery/expressions/metered-expression.ts";
import { patternOf } from "../../../machinery/expressions/prepare-expression.ts";

/** The variable of an expression: the `claims` of a token, or the `user` that was made from them. */
export type ExpressionVariable = "claims" | "user";

/** The type of an expression's result. `texts` is a string or a list of strings. */
export type ExpressionResult = "boolean" | "text" | "texts";

/** A checked and compiled CEL expression. */
export interface ClaimExpression {
  readonly source: string;
  /** Whether it reads `claims.FIELD`. */
  readsClaim(field: string): boolean;
  /**
   * Evaluates the expression. Throws an Error for a missing claim, a wrong type, or too much work. The message never quotes a value of the
   * variable.
   */
  evaluate(value: Readonly<Record<string, unknown>>): unknown;
}

/** The most steps of one evaluation: some tens of milliseconds. */
const maximumSteps = 500_000;

const environments = {
  claims: kubernetesEnvironment().registerVariable("claims", "map<string, dyn>"),
  user: kubernetesEnvironment().registerVariable({
    name: "user",
    schema: { username: "string", uid: "string", groups: "list<string>", extra: "map<string, list<string>>" },
  }),
};

const acceptedTypes: Readonly<Record<ExpressionResult, readonly string[]>> = {
  boolean: ["bool", "dyn"],
  text: ["string", "dyn"],
  texts: ["string", "list<string>", "list", "dyn"],
};
const wantedTypes: Readonly<Record<ExpressionResult, string>> = {
  boolean: "must evaluate to bool",
  text: "must evaluate to string",
  texts: "must evaluate to string or list of strings",
};

/** Compiles an expression on one variable. Throws ExpressionError, also for `matches` with a pattern that is not a literal. */
export function compileClaimExpression(
  source: string,
  { variable, result }: { readonly variable: ExpressionVariable; readonly result: ExpressionResult },
): ClaimExpression {
  const { nodes, type, evaluate } = compile(source, {
    environment: environments[variable],
    hasEscapedFields: true,
  });
  if (!acceptedTypes[result].includes(type)) throw new ExpressionError(wantedTypes[result]);
  if (nodes.some(matchesPatternOfToken)) throw new ExpressionError("matches() needs its pattern as a literal string");
  return {
    source,
    readsClaim: (field) => nodes.some((node) => selects(node, field)),
    evaluate(value) {
      // A claim may have any name, and a Map has no inherited names.
      const given = variable === "claims" ? new Map(Object.entries(value)) : value;
      try {
        return evaluate({ [variable]: given }, new CostBudget(maximumSteps));
      } catch (error) {
        throw new Error(evaluationFault(error), { cause: error });
      }
    },
  };
}

/**
 * Why an expression failed. Only these messages are safe to show: they name what the operator wrote, whereas others may quote values of the
 * token.
 */
function evaluationFault(error: unknown): string {
  if (error instanceof OverBudget) return "it would take too many steps for this token";
  const code = error instanceof Error && "code" in error ? String(error.code) : "error";
  return code === "no_such_key" ? summaryOf(error) : code.replaceAll("_", " ");
}

const matchesPatternOfToken = (node: ASTNode): boolean => (patternOf(node)?.op ?? "value") !== "value";

const selects = (node: ASTNode, field: string): boolean => {
  if (node.op === "." || node.op === ".?") return isClaims(node.args[0]) && node.args[1] === field;
  if (node.op !== "[]" && node.op !== "[?]") return false;
  const [operand, key] = node.args;
  return isClaims(operand) && key.op === "value" && key.args === field;
};
const isClaims = (node: ASTNode): boolean => node.op === "id" && node.args === "claims";
