import { invalidValue } from "../../../machinery/api/field-error.ts";
import type { FieldError } from "../../../machinery/api/field-error.ts";
import { compileExpression, ExpressionError } from "../../../machinery/expressions/metered-expression.ts";
import type { Expression } from "../../../machinery/expressions/metered-expression.ts";
import type { PolicySpec } from "../policies/policy-schema.ts";
import { policyEnvironment, usableType } from "./policy-environment.ts";
import type { EnvironmentOptions } from "./policy-environment.ts";

/** The patterns of a policy, in the unit of `patternSize`. They take half a second to compile, in which the server does nothing else. */
const largestPatterns = 100_000;
/** The characters of all expressions of a policy: they are compiled at once, and each takes half a microsecond and more. */
const maximumCharacters = 256 * 1024;

export interface CompiledValidation {
  readonly expression: Expression;
  readonly message: string;
  readonly messageExpression: Expression | undefined;
  readonly reason: string;
}

/** The expressions of a policy, checked and ready. */
export interface CompiledPolicy {
  readonly matchConditions: readonly Expression[];
  readonly variables: ReadonlyMap<string, Expression>;
  readonly validations: readonly CompiledValidation[];
  readonly auditAnnotations: readonly { readonly key: string; readonly expression: Expression }[];
}

/** Compiles the expressions of a policy. Those with a fault are left out. */
export function compilePolicy(spec: PolicySpec): {
  readonly policy: CompiledPolicy;
  readonly faults: readonly FieldError[];
} {
  const faults: FieldError[] = [];
  const types = new Map<string, string>();
  const hasParams = spec.paramKind !== undefined;
  let patternsSize = 0;
  let characters = 0;
  const compile = (source: string, { field, accepted, hasAuthorizer = true }: Wanted): Expression[] => {
    try {
      if (patternsSize > largestPatterns)
        throw new ExpressionError("the regular expressions of the policy are too large");
      characters += source.length;
      if (characters > maximumCharacters)
        throw new ExpressionError("the expressions of the policy are longer than 256 KiB together");
      const expression = compileExpression(source, policyEnvironment({ hasParams, hasAuthorizer }, types));
      patternsSize += expression.patternsSize;
      if (accepted === undefined || accepted.includes(expression.type)) return [expression];
      if (expression.type === "dyn" && readsUntyped(source, types)) return [expression];
      const detail = `must evaluate to ${wordsFor(accepted)} but got ${wordFor(expression.type)}`;
      faults.push(invalidValue(field, { value: source, detail }));
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      faults.push(invalidValue(field, { value: source, detail: `compilation failed: ${error.message}` }));
    }
    return [];
  };
  const variables = new Map<string, Expression>();
  for (const [index, { name, expression }] of (spec.variables ?? []).entries()) {
    const [compiled] = compile(expression, { field: `spec.variables[${index}].expression`, accepted: undefined });
    if (compiled === undefined) continue;
    variables.set(name, compiled);
    const isUntyped = compiled.type === "dyn" && readsUntyped(expression, types);
    types.set(name, isUntyped ? untyped : compiled.type);
  }
  const matchConditions = (spec.matchConditions ?? []).flatMap(({ expression }, index) =>
    compile(expression, { field: `spec.matchConditions[${index}].expression`, accepted: boolean }),
  );
  const validations = (spec.validations ?? []).flatMap((validation, index) => {
    const field = `spec.validations[${index}]`;
    const { message = "", reason = "Invalid", messageExpression = "" } = validation;
    const said =
      messageExpression.trim() === ""
        ? []
        : compile(messageExpression, { field: `${field}.messageExpression`, accepted: text, hasAuthorizer: false });
    return compile(validation.expression, { field: `${field}.expression`, accepted: boolean }).map((expression) => ({
      expression,
      message,
      messageExpression: said[0],
      reason,
    }));
  });
  const auditAnnotations = (spec.auditAnnotations ?? []).flatMap(({ key, valueExpression }, index) =>
    compile(valueExpression, {
      field: `spec.auditAnnotations[${index}].valueExpression`,
      accepted: textOrNull,
    }).map((expression) => ({ key, expression })),
  );
  return { policy: { matchConditions, variables, validations, auditAnnotations }, faults };
}

/**
 * Whether an expression reads something whose type upstream knows, and this server only when it is read: the Namespace, members that may
 * be missing (`object[?'a']`), variables such as lists of lists, and those that were made of these.
 */
const readsUntyped = (source: string, types: ReadonlyMap<string, string>): boolean =>
  /\bnamespaceObject\b|\[\?/.test(source) ||
  Array.from(source.matchAll(/\bvariables\.(\w+)/g), ([, name = ""]) => types.get(name) ?? "dyn").some(
    (type) => type !== "dyn" && usableType(type) === "dyn",
  );

/** The type of a variable that upstream knows, and this server only when it is read. */
const untyped = "untyped";

/** In upstream's words. */
const wordFor = (type: string): string => (type === "null" ? "null_type" : type);
const wordsFor = (accepted: readonly string[]): string =>
  accepted.length === 1 ? accepted.join("") : `one of [${accepted.map(wordFor).join(" ")}]`;

interface Wanted extends Partial<Pick<EnvironmentOptions, "hasAuthorizer">> {
  readonly field: string;
  /** Undefined: any type. */
  readonly accepted: readonly string[] | undefined;
}

/** As in upstream, `dyn` is none of them: the value of a field has to be compared, or made a text. */
const boolean = ["bool"];
const text = ["string"];
const textOrNull = ["string", "null"];
