import { Optional } from "@marcbachmann/cel-js";
import type { ASTNode } from "@marcbachmann/cel-js";
import { suffixedName } from "./add-functions.ts";
import { readDuration, readTimestamp } from "./functions/time-text.ts";
import { libraryMacro } from "./library-macro.ts";
import type { Checker, LibraryType as Type, Scope } from "./library-macro.ts";
import { linearPattern, patternSize } from "./linear-pattern.ts";
import { unescapeFields } from "./unescape-fields.ts";

interface Declaration {
  readonly receiverType: Type | null;
  readonly returnType: Type;
}

/** A node as the library (8.0.0) makes it. `check` is called once. */
interface LibraryNode {
  readonly meta: { readonly macro?: unknown; readonly alternate?: unknown };
  readonly checkedType?: Type;
  /** The functions that have a call's name. */
  readonly candidates?: Iterable<Declaration>;
  setMeta(key: string, value: unknown): unknown;
  check(checker: Checker, node: unknown, scope: Scope): Type;
}

const libraryNode = (node: ASTNode): LibraryNode => node as unknown as LibraryNode; // with the fields that the library's types leave out

/** An expression, part by part. */
interface PreparedExpression {
  /** Every part, the root included. */
  readonly nodes: readonly ASTNode[];
  /** How long the pattern literals take to compile, in the unit of `patternSize`. */
  readonly patternsSize: number;
  /** Throws an Error for literals that Kubernetes refuses although the library's type check accepts them. Call it after the type check. */
  checkLiterals(): void;
}

/** The functions of the library that expressions call directly. */
const libraryFunctions: ReadonlySet<string> = new Set(["dyn", "type"]);

/**
 * Adapts a parsed expression to CEL in Kubernetes, before its types are checked: calls reach Signet's own functions, `has` accepts every
 * field, `.?` accepts only a field that the type has, and an unresolved type is `dyn`. Throws an Error for a macro that Kubernetes does not
 * have.
 */
export function prepareExpression(
  root: ASTNode,
  { hasEscapedFields }: { readonly hasEscapedFields: boolean },
): PreparedExpression {
  const places = placesOf(root);
  if (hasEscapedFields) unescapeFields(places.map(({ node }) => node));
  for (const { node } of places) prepareNode(node);
  return {
    nodes: places.map(({ node }) => node),
    patternsSize: places.reduce((sum, { node }) => sum + sizeOfPattern(patternOf(node)), 0),
    checkLiterals() {
      for (const { node, isInFormat } of places) {
        if (!isInFormat) refuseMixedTypes(node);
        refuseBadLiteral(node);
      }
    },
  };
}

interface Place {
  readonly node: ASTNode;
  /** Whether the node is among the values of a `format` call, which may have any types. */
  readonly isInFormat: boolean;
}

function placesOf(root: ASTNode): Place[] {
  const found: Place[] = [];
  const waiting: { readonly part: unknown; readonly isInFormat: boolean }[] = [{ part: root, isInFormat: false }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { part, isInFormat } = next;
    if (Array.isArray(part)) waiting.push(...part.map((one: unknown) => ({ part: one, isInFormat })));
    else if (isNode(part)) {
      found.push({ node: part, isInFormat });
      waiting.push({ part: part.args, isInFormat: isInFormat || (part.op === "rcall" && part.args[0] === "format") });
    }
  }
  return found;
}

const isNode = (value: unknown): value is ASTNode =>
  typeof value === "object" && value !== null && "op" in value && "args" in value;

function prepareNode(node: ASTNode): void {
  if (node.op === "list" || node.op === "map") closeType(node);
  if (node.op === "." || node.op === ".?" || node.op === "[]" || node.op === "[?]") refuseUnknownField(node);
  if (node.op !== "call" && node.op !== "rcall") return;
  closeType(node);
  const [name] = node.args;
  const { meta } = libraryNode(node);
  if (meta.macro === undefined && meta.alternate === undefined) {
    if (!libraryFunctions.has(name)) node.args[0] = suffixedName(name);
  } else if (name === "bind") {
    throw new Error("undeclared reference to 'cel'");
  } else if (name === "has" && node.op === "call") {
    libraryNode(node).setMeta("macro", hasMacro(node.args[1][0]));
  }
}

/**
 * The library keeps the type parameter `T` when nothing determines it, as in `[]`, and then finds no operator for it. When several
 * functions accept a list of unknown values, the library takes the first, so the result becomes `dyn` if their result types differ.
 */
function closeType(node: ASTNode): void {
  const own = libraryNode(node);
  const check = own.check.bind(node);
  // oxlint-disable-next-line max-params -- what the library gives
  own.check = (checker, self, scope) => {
    const type = check(checker, self, scope);
    if (node.op === "rcall" && hasSeveralTypes(libraryNode(node.args[1]).checkedType, own.candidates)) {
      return checker.getType("dyn");
    }
    return type.hasPlaceholderType ? checker.getType(type.name.replaceAll(/\b[A-Z]\b/g, "dyn")) : type;
  };
}

/**
 * The library accepts any field of an optional value, and behind `.?`. This refuses a field that the type does not have, because it could
 * never be present.
 */
function refuseUnknownField(node: ASTNode & { readonly args: readonly [operand: ASTNode, field: unknown] }): void {
  const own = libraryNode(node);
  const check = own.check.bind(node);
  // oxlint-disable-next-line max-params -- what the library gives
  own.check = (checker, self, scope) => {
    const type = check(checker, self, scope);
    const operand = libraryNode(node.args[0]).checkedType;
    const holder = operand?.kind === "optional" ? operand.valueType : operand;
    if (holder !== undefined && type.kind === "optional") checker.checkAccessOnType(node, scope, holder);
    return type;
  };
}

function hasSeveralTypes(receiver: Type | undefined, candidates: Iterable<Declaration> = []): boolean {
  if (receiver?.hasDynType !== true) return false;
  const possible = [...candidates].filter(({ receiverType }) => receiverType?.matches(receiver));
  return new Set(possible.map(({ returnType }) => returnType.name)).size > 1;
}

/** The library's own `has` accepts only fields of fields of a variable. */
function hasMacro(field: ASTNode | undefined): unknown {
  if (field?.op !== ".") throw new Error("invalid argument to has() macro");
  const [operand, name] = field.args;
  return libraryMacro(
    { operand },
    {
      check({ checker, scope }) {
        checker.check(field, scope);
        return checker.getType("bool");
      },
      run({ evaluator, scope }) {
        const value = evaluator.run(operand, scope);
        const holder: unknown = value instanceof Optional ? value.orValue(undefined) : value;
        if (holder === undefined) return false;
        return evaluator.debugType(holder).fieldLazy(holder, name, field, evaluator) !== undefined;
      },
    },
  );
}

/** Throws an Error for literals that mix types where upstream does. A type that is not known before evaluation may be right. */
function refuseMixedTypes(node: ASTNode): void {
  const groups = node.op === "list" ? [node.args] : node.op === "map" ? columnsOf(node.args) : [];
  for (const [first, ...others] of groups) {
    if (first === undefined) continue;
    const expected = libraryNode(first).checkedType;
    for (const other of others) {
      const found = libraryNode(other).checkedType;
      if (expected === undefined || found === undefined || expected.hasDynType || found.hasDynType) continue;
      if (expected.name !== found.name) throw new Error(`expected type '${expected.name}' but found '${found.name}'`);
    }
  }
}

const columnsOf = (entries: readonly (readonly [ASTNode, ASTNode])[]): ASTNode[][] => [
  entries.map(([key]) => key),
  entries.map(([, value]) => value),
];

/** Reads text literals when the expression is compiled, and throws an Error for those that are not valid. */
function refuseBadLiteral(node: ASTNode): void {
  const pattern = patternOf(node);
  if (pattern?.op === "value") linearPattern(String(pattern.args));
  if (node.op !== "call") return;
  const [name, [argument]] = node.args;
  if (argument?.op !== "value" || typeof argument.args !== "string") return;
  if (name === suffixedName("duration")) readDuration(argument.args);
  if (name === suffixedName("timestamp")) readTimestamp(argument.args);
}

const sizeOfPattern = (pattern: ASTNode | undefined): number =>
  pattern?.op === "value" ? patternSize(String(pattern.args)) : 0;

const patternFunctions: ReadonlySet<string> = new Set(["matches", "find", "findAll"].map(suffixedName));

/** The regular expression of a call that takes one. */
export function patternOf(node: ASTNode): ASTNode | undefined {
  if (node.op === "rcall" && patternFunctions.has(node.args[0])) return node.args[2][0];
  return node.op === "call" && patternFunctions.has(node.args[0]) ? node.args[1][1] : undefined;
}
