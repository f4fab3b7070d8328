import { duplicate, invalidValue, required } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { CostBudget, OverBudget } from "../../../machinery/expressions/cost-budget.ts";
import { kubernetesEnvironment } from "../../../machinery/expressions/kubernetes-environment.ts";
import { compileExpression, ExpressionError } from "../../../machinery/expressions/metered-expression.ts";
import type { Expression } from "../../../machinery/expressions/metered-expression.ts";
import type { WebhookReviewSpec } from "./webhook-review.ts";

/** The most steps of all conditions together for one request. A condition that exceeds this counts as true. */
const maximumSteps = 100_000;

const requirements = "list<map<string, dyn>>";
const environment = kubernetesEnvironment().registerVariable({
  name: "request",
  schema: {
    user: "string",
    uid: "string",
    groups: "list<string>",
    extra: "map<string, list<string>>",
    resourceAttributes: {
      namespace: "string",
      verb: "string",
      group: "string",
      version: "string",
      resource: "string",
      subresource: "string",
      name: "string",
      fieldSelector: { requirements },
      labelSelector: { requirements },
    },
    nonResourceAttributes: { path: "string", verb: "string" },
  },
});

function compile(expression: string): Expression {
  const compiled = compileExpression(expression, { environment });
  if (!["bool", "dyn"].includes(compiled.type)) throw new ExpressionError("must evaluate to bool");
  return compiled;
}

/** Returns the faults of conditions (upstream: `compileMatchConditions`). */
export function conditionFaults(expressions: readonly string[], at: string): FieldError[] {
  const seen = new Set<string>();
  return expressions.flatMap((expression, index) => {
    const field = `${at}[${index}].expression`;
    if (expression.trim() === "") return [required(field, "")];
    if (seen.has(expression)) return [duplicate(field, expression)];
    seen.add(expression);
    try {
      compile(expression);
      return [];
    } catch (error) {
      if (error instanceof ExpressionError)
        return [invalidValue(field, { value: expression, detail: `compilation failed: ${error.message}` })];
      throw error;
    }
  });
}

/** Whether a request is sent to the webhook. `error`: no condition is false, and one could not be evaluated. */
type ConditionResult = "matches" | "excluded" | "error";

export type MatchCondition = (spec: WebhookReviewSpec) => ConditionResult;

/** All expressions as one condition (upstream: `CELMatcher.Eval`). Throws ExpressionError for an invalid one. */
export function matchCondition(expressions: readonly string[]): MatchCondition {
  const conditions = expressions.map(compile);
  return (spec) => {
    const budget = new CostBudget(maximumSteps);
    const request = withEmptyFields(spec);
    let result: ConditionResult = "matches";
    for (const condition of conditions) {
      try {
        const value = condition.evaluate({ request }, budget);
        if (value === false) return "excluded";
        if (value !== true) result = "error";
      } catch (error) {
        // A condition that takes too many steps counts as true, so that a long request cannot avoid the webhook.
        if (!(error instanceof OverBudget)) result = "error";
      }
    }
    return result;
  };
}

/** The request that conditions read. Empty fields are included, as in upstream. */
function withEmptyFields({ resourceAttributes, nonResourceAttributes, extra, ...user }: WebhookReviewSpec): unknown {
  const resource = { namespace: "", verb: "", group: "", version: "", resource: "", subresource: "", name: "" };
  return {
    ...user,
    extra: new Map(Object.entries(extra)),
    ...(resourceAttributes !== undefined && { resourceAttributes: { ...resource, ...resourceAttributes } }),
    ...(nonResourceAttributes !== undefined && { nonResourceAttributes }),
  };
}
