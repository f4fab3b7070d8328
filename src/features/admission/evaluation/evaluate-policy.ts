import { StringDecoder } from "node:string_decoder";
import { CostBudget, OverBudget } from "../../../machinery/expressions/cost-budget.ts";
import { summaryOf } from "../../../machinery/expressions/metered-expression.ts";
import type { Expression } from "../../../machinery/expressions/metered-expression.ts";
import type { CelAuthorizer } from "./authorizer-functions.ts";
import type { CompiledPolicy, CompiledValidation } from "./compile-policy.ts";
import { celVariables } from "./policy-environment.ts";
import type { CelRequest } from "./policy-environment.ts";

/** The values that expressions read. Objects are JSON with CEL's integers. A missing object is null. */
export interface PolicyInput {
  readonly object: unknown;
  readonly oldObject: unknown;
  readonly request: CelRequest;
  readonly namespaceObject: unknown;
  readonly params: unknown;
  readonly authorizer: CelAuthorizer;
}

/** The result of a policy for one write. */
export interface PolicyResult {
  /** What the actions of the binding are for. */
  readonly failures: readonly PolicyFailure[];
  /** Audit annotations that could not be evaluated. They refuse the write, whatever the actions are. */
  readonly annotationFailures: readonly PolicyFailure[];
  /** Errors that were ignored because of the failurePolicy Ignore. */
  readonly ignored: readonly ErrorType[];
  readonly annotations: Readonly<Record<string, string>>;
  /** The cost of the evaluation, in steps. */
  readonly steps: number;
}

export interface PolicyFailure {
  readonly index: number;
  readonly message: string;
  readonly reason: string;
  readonly error: ErrorType;
}

/** The type of an error, as upstream's metric names it. */
export type ErrorType = "no_error" | "invalid_error" | "out_of_budget";

/** The most steps of a policy for one write and one param: a tenth of a second. */
export const stepsOfPolicy = 1_000_000;
const longestMessageBytes = 5 * 1024;
const longestAnnotationBytes = 10 * 1024;
const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";

/**
 * Evaluates a policy in upstream's order: conditions, validations with their messages, annotations. Expressions are synchronous, so the
 * decisions of authorizers must be in memory already.
 */
export function evaluatePolicy(
  policy: CompiledPolicy,
  { input, failurePolicy }: { readonly input: PolicyInput; readonly failurePolicy: "Fail" | "Ignore" },
): PolicyResult {
  const evaluation = new Evaluation(policy, input);
  const failures: PolicyFailure[] = [];
  const annotationFailures: PolicyFailure[] = [];
  const ignored: ErrorType[] = [];
  const annotations: Record<string, string> = {};
  const failed = (list: PolicyFailure[], { index, fault: { message, type } }: FailedExpression): void => {
    if (failurePolicy === "Ignore") ignored.push(type);
    else list.push({ index, message, reason: "Invalid", error: type });
  };
  const result = (): PolicyResult => ({ failures, annotationFailures, ignored, annotations, steps: evaluation.steps });

  const conditionFaults: EvaluationFault[] = [];
  for (const condition of policy.matchConditions) {
    const value = evaluation.valueOf(condition);
    if (value instanceof EvaluationFault) conditionFaults.push(value);
    else if (value !== true) return result();
  }
  const [conditionFault] = conditionFaults;
  if (conditionFault !== undefined) {
    const messages = new Set(conditionFaults.map(({ message }) => message));
    const message = messages.size === 1 ? conditionFault.message : `[${[...messages].join(", ")}]`;
    failed(failures, { index: 0, fault: new EvaluationFault(message, conditionFault.type) });
    return result();
  }
  for (const [index, validation] of policy.validations.entries()) {
    const value = evaluation.valueOf(validation.expression);
    if (value instanceof EvaluationFault) failed(failures, { index, fault: value });
    else if (value !== true) {
      const message = evaluation.messageOf(validation);
      failures.push({ index, message, reason: validation.reason, error: "no_error" });
    }
  }
  for (const { key, expression } of policy.auditAnnotations) {
    const value = evaluation.valueOf(expression);
    if (value instanceof EvaluationFault) failed(annotationFailures, { index: 0, fault: value });
    else if (typeof value === "string") {
      const text = value.trim();
      if (text !== "") annotations[key] = cutToBytes(text, longestAnnotationBytes);
    } else if (value !== null) {
      const what = `valueExpression '${expression.source}' resulted in unsupported return type`;
      const fault = new EvaluationFault(`${what}. Return type must be either string or null.`, "invalid_error");
      failed(annotationFailures, { index: 0, fault });
    }
  }
  return result();
}

/** The start of a text that is at most so many bytes in UTF-8, without a letter that is cut in two. */
const cutToBytes = (text: string, bytes: number): string =>
  Buffer.byteLength(text) <= bytes ? text : new StringDecoder().write(Buffer.from(text).subarray(0, bytes));

interface FailedExpression {
  readonly index: number;
  readonly fault: EvaluationFault;
}

class EvaluationFault {
  readonly message: string;
  readonly type: ErrorType;
  constructor(message: string, type: ErrorType) {
    this.message = message;
    this.type = type;
  }
}

class Evaluation {
  readonly #activation: Readonly<Record<string, unknown>>;
  readonly #budget = new CostBudget(stepsOfPolicy);

  constructor({ variables }: CompiledPolicy, input: PolicyInput) {
    this.#activation = {
      ...input,
      variables: celVariables(
        [...variables].map(([name, expression]) => [name, () => this.#variable(name, expression)] as const),
      ),
    };
  }

  /** Evaluates a variable. The error names the variable, because the expression that reads it does not show what failed. */
  #variable(name: string, expression: Expression): unknown {
    try {
      return expression.evaluate(this.#activation, this.#budget);
    } catch (error) {
      if (error instanceof OverBudget) throw error;
      throw new Error(`composited variable "${name}" fails to evaluate: ${summaryOf(error)}`, { cause: error });
    }
  }

  get steps(): number {
    return this.#budget.spent;
  }

  valueOf(expression: Expression): unknown {
    if (this.#budget.isSpent) return new EvaluationFault(outOfBudget, "out_of_budget");
    try {
      return expression.evaluate(this.#activation, this.#budget);
    } catch (error) {
      if (error instanceof OverBudget) return new EvaluationFault(outOfBudget, "out_of_budget");
      return new EvaluationFault(
        `expression '${expression.source}' resulted in error: ${summaryOf(error)}`,
        "invalid_error",
      );
    }
  }

  messageOf({ expression, message, messageExpression }: CompiledValidation): string {
    if (messageExpression !== undefined) {
      const value = this.valueOf(messageExpression);
      const said = typeof value === "string" ? value.trim() : "";
      if (said !== "" && !said.includes("\n") && Buffer.byteLength(said) <= longestMessageBytes) return said;
    }
    return message.trim() || `failed expression: ${expression.source.trim()}`;
  }
}
