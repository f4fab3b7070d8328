import { Environment } from "@marcbachmann/cel-js";
import type { ASTNode } from "@marcbachmann/cel-js";
import { RE2JS } from "re2js";

/** An expression cannot be compiled. The message says why, for the operator who wrote it. */
export class ExpressionError extends Error {}

/** The values that an expression reads: `claims` of a token, or the `user` that was made of them. */
export type ExpressionVariable = "claims" | "user";

/** What an expression must give. `texts` is a string or a list of strings. */
export type ExpressionResult = "boolean" | "text" | "texts";

/** A CEL expression, checked and ready. */
export interface ClaimExpression {
  readonly source: string;
  /** Whether it reads `claims.FIELD`. */
  readsClaim(field: string): boolean;
  /**
   * Evaluates it. Throws an Error whose message never quotes a value of the variable: for a claim that is not there, a wrong
   * type, or too much work.
   */
  evaluate(value: Readonly<Record<string, unknown>>): unknown;
}

/** No expression in a file is longer than this: upstream's examples have a tenth. */
const maximumExpressionLength = 16 * 1024;
const limits = { maxAstNodes: 2000, maxDepth: 50 };
/** The steps of one evaluation: some ten milliseconds. */
const maximumSteps = 1_000_000;
/** An own function, because the library's uses the runtime's expressions, whose time can grow exponentially. */
const linearMatches = "matchesInLinearTime";

const environmentOf = (variable: ExpressionVariable): Environment => {
  const environment = new Environment({ enableOptionalTypes: true, limits }).registerFunction(
    `string.${linearMatches}(string): bool`,
    (text: string, pattern: string) => compiledPattern(pattern).matcher(text).find(),
    { async: false },
  );
  return variable === "claims"
    ? environment.registerVariable("claims", "map<string, dyn>")
    : environment.registerVariable({
        name: "user",
        schema: { username: "string", uid: "string", groups: "list<string>", extra: "map<string, list<string>>" },
      });
};
const environments = { claims: environmentOf("claims"), user: environmentOf("user") };

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

/**
 * Compiles a CEL expression (https://cel.dev) on one variable. Throws ExpressionError for a syntax or type error, and for
 * `matches` with a pattern that is not a literal of RE2.
 */
export function compileExpression(
  source: string,
  { variable, result }: { readonly variable: ExpressionVariable; readonly result: ExpressionResult },
): ClaimExpression {
  if (source.length > maximumExpressionLength) throw new ExpressionError("the expression is longer than 16 KiB");
  const program = readable(() => environments[variable].parse(source));
  const nodes = nodesOf(program.ast);
  for (const node of nodes) useLinearMatches(node);
  const checked = program.check();
  if (!checked.valid) throw new ExpressionError(summaryOf(checked.error));
  if (!acceptedTypes[result].includes(checked.type ?? "")) throw new ExpressionError(wantedTypes[result]);
  const depth = loopDepth(program.ast);
  const splitsText = nodes.some((node) => node.op === "rcall" && node.args[0] === "split");
  return {
    source,
    readsClaim: (field) => nodes.some((node) => selects(node, field)),
    evaluate(value) {
      try {
        if (depth === 0 || nodes.length * sizeOf(value, splitsText) ** depth <= maximumSteps) {
          return program({ [variable]: value });
        }
      } catch (error) {
        throw new Error(evaluationFault(error), { cause: error });
      }
      throw new Error("it would take too many steps for this token");
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

/** The library's messages show the place below the first line. */
const summaryOf = (error: unknown): string =>
  error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : "not a CEL expression";

/** Only this message names nothing but what the operator wrote; others can quote values. */
function evaluationFault(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "error";
  return code === "no_such_key" ? summaryOf(error) : code.replaceAll("_", " ");
}

/** Every node of the tree, the root included. */
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

function useLinearMatches(node: ASTNode): void {
  if (node.op !== "rcall" || node.args[0] !== "matches") return;
  const [pattern] = node.args[2];
  if (pattern?.op !== "value" || typeof pattern.args !== "string") {
    throw new ExpressionError("matches() needs its pattern as a literal string");
  }
  readable(() => compiledPattern(String(pattern.args)));
  node.args[0] = linearMatches;
}

const patterns = new Map<string, RE2JS>();

/** Patterns are literals of the configuration: there are few. */
function compiledPattern(pattern: string): RE2JS {
  let compiled = patterns.get(pattern);
  if (compiled === undefined) {
    compiled = RE2JS.compile(pattern);
    if (patterns.size >= 1000) patterns.clear();
    patterns.set(pattern, compiled);
  }
  return compiled;
}

const loops: ReadonlySet<string> = new Set(["all", "exists", "exists_one", "map", "filter"]);

/** How deep macros and searches in lists are nested: the exponent of the work. */
function loopDepth(value: unknown): number {
  if (Array.isArray(value)) return Math.max(0, ...value.map(loopDepth));
  if (!isNode(value)) return 0;
  const isLoop = value.op === "in" || (value.op === "rcall" && loops.has(value.args[0]));
  return (isLoop ? 1 : 0) + loopDepth(value.args);
}

const selects = (node: ASTNode, field: string): boolean => {
  if (node.op === "." || node.op === ".?") return isClaims(node.args[0]) && node.args[1] === field;
  if (node.op !== "[]" && node.op !== "[?]") return false;
  const [operand, key] = node.args;
  return isClaims(operand) && key.op === "value" && key.args === field;
};
const isClaims = (node: ASTNode): boolean => node.op === "id" && node.args === "claims";

/** The number of values in a value, and of characters if texts become lists. */
function sizeOf(value: unknown, countsCharacters: boolean): number {
  if (typeof value === "string") return countsCharacters ? value.length : 1;
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, one) => sum + sizeOf(one, countsCharacters), 1);
}
