import { invalidValue } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { compileExpression, ExpressionError } from "../../../machinery/expressions/metered-expression.ts";
import type { Expression } from "../../../machinery/expressions/metered-expression.ts";
import type { PolicySpec } from "../policies/policy-schema.ts";
import { policyEnvironment, usableType } from "./policy-environment.ts";
import type { EnvironmentOptions } from "./policy-environment.ts";

/**
 * The largest size of a policy's patterns, in the unit of `patternSize`. They take half a second to compile, in which the server does
 * nothing else.
 */
const largestPatterns = 100_000;
/** The most characters of all expressions of a policy. They are compiled at once, and each character takes at least half a microsecond. */
const maximumCharacters = 256 * 1024;

export interface CompiledValidation {
  readonly expression: Expression;
  readonly message: string;
  readonly messageExpression: Expression | undefined;
  readonly reason: string;
}

/** The checked and compiled expressions of a policy. */
export interface CompiledPolicy {
  readonly matchConditions: readonly Expression[];
  readonly variables: ReadonlyMap<string, Expression>;
  readonly validations: readonly CompiledValidation[];
  readonly auditAnnotations: readonly { readonly key: string; readonly expression: Expression }[];
}

/** Compiles the expressions of a policy. Expressions with a fault are left out. */
export function compilePolicy(spec: PolicySpec): {
  readonly policy: CompiledPolicy;
  readonly faults: readonly FieldError[];
} {
  const compiler = new PolicyCompiler({ hasParams: spec.paramKind !== undefined });
  const variables = new Map<string, Expression>();
  for (const [index, variable] of (spec.variables ?? []).entries()) {
    const compiled = compiler.compileVariable(variable, { field: `spec.variables[${index}].expression` });
    if (compiled !== undefined) variables.set(variable.name, compiled);
  }
  const matchConditions = (spec.matchConditions ?? []).flatMap(({ expression }, index) =>
    compiler.compile(expression, { field: `spec.matchConditions[${index}].expression`, accepted: booleanTypes }),
  );
  const validations = (spec.validations ?? []).flatMap((validation, index) => {
    const field = `spec.validations[${index}]`;
    const { message = "", reason = "Invalid", messageExpression = "" } = validation;
    const wanted = { field: `${field}.messageExpression`, accepted: textTypes, hasAuthorizer: false };
    const said = messageExpression.trim() === "" ? [] : compiler.compile(messageExpression, wanted);
    return compiler
      .compile(validation.expression, { field: `${field}.expression`, accepted: booleanTypes })
      .map((expression) => ({ expression, message, messageExpression: said[0], reason }));
  });
  const auditAnnotations = (spec.auditAnnotations ?? []).flatMap(({ key, valueExpression }, index) =>
    compiler
      .compile(valueExpression, { field: `spec.auditAnnotations[${index}].valueExpression`, accepted: textOrNullTypes })
      .map((expression) => ({ key, expression })),
  );
  return { policy: { matchConditions, variables, validations, auditAnnotations }, faults: compiler.faults };
}

/** Compiles the expressions of one policy in their order, because each may read the variables before it. */
class PolicyCompiler {
  readonly faults: FieldError[] = [];
  readonly #hasParams: boolean;
  /** The types of the variables that were compiled so far, by name. */
  readonly #types = new Map<string, string>();
  #patternsSize = 0;
  #characters = 0;

  constructor({ hasParams }: Pick<EnvironmentOptions, "hasParams">) {
    this.#hasParams = hasParams;
  }

  /** Compiles an expression. The list is empty when it has a fault. */
  compile(source: string, { field, accepted, hasAuthorizer = true }: Wanted): Expression[] {
    try {
      const expression = this.#compileBounded(source, { hasAuthorizer });
      if (accepted === undefined || accepted.includes(expression.type)) return [expression];
      if (expression.type === "dyn" && readsUntyped(source, this.#types)) return [expression];
      const detail = `must evaluate to ${wordsFor(accepted)} but got ${wordFor(expression.type)}`;
      this.faults.push(invalidValue(field, { value: source, detail }));
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      this.faults.push(invalidValue(field, { value: source, detail: `compilation failed: ${error.message}` }));
    }
    return [];
  }

  compileVariable(
    { name, expression }: { readonly name: string; readonly expression: string },
    { field }: { readonly field: string },
  ): Expression | undefined {
    const [compiled] = this.compile(expression, { field, accepted: undefined });
    if (compiled === undefined) return undefined;
    const isUntyped = compiled.type === "dyn" && readsUntyped(expression, this.#types);
    this.#types.set(name, isUntyped ? untyped : compiled.type);
    return compiled;
  }

  #compileBounded(source: string, { hasAuthorizer }: Pick<EnvironmentOptions, "hasAuthorizer">): Expression {
    if (this.#patternsSize > largestPatterns)
      throw new ExpressionError("the regular expressions of the policy are too large");
    this.#characters += source.length;
    if (this.#characters > maximumCharacters)
      throw new ExpressionError("the expressions of the policy are longer than 256 KiB together");
    const environment = policyEnvironment({ hasParams: this.#hasParams, hasAuthorizer }, this.#types);
    const expression = compileExpression(source, { environment });
    this.#patternsSize += expression.patternsSize;
    return expression;
  }
}

/**
 * Whether an expression reads values whose type this server knows only when it evaluates the expression. Upstream knows it already when it
 * compiles. Such values are the Namespace, optional members (`object[?'a']`), variables such as lists of lists, and variables that were
 * computed from these.
 */
const readsUntyped = (source: string, types: ReadonlyMap<string, string>): boolean =>
  /\bnamespaceObject\b|\[\?/.test(source) ||
  Array.from(source.matchAll(/\bvariables\.(\w+)/g), ([, name = ""]) => types.get(name) ?? "dyn").some(
    (type) => type !== "dyn" && usableType(type) === "dyn",
  );

/** The type of a variable whose type only upstream knows when it compiles. */
const untyped = "untyped";

/** The name of a type in upstream's errors. */
const wordFor = (type: string): string => (type === "null" ? "null_type" : type);
const wordsFor = (accepted: readonly string[]): string =>
  accepted.length === 1 ? accepted.join("") : `one of [${accepted.map(wordFor).join(" ")}]`;

interface Wanted extends Partial<Pick<EnvironmentOptions, "hasAuthorizer">> {
  readonly field: string;
  /** Undefined: any type. */
  readonly accepted: readonly string[] | undefined;
}

/**
 * The types that results may have. As in upstream, `dyn` is not allowed: the value of a field must be compared, or converted to a string.
 */
const booleanTypes = ["bool"];
const textTypes = ["string"];
const textOrNullTypes = ["string", "null"];
