import type { ASTNode } from "@marcbachmann/cel-js";

/** A type in the form of the library (8.0.0). */
export interface LibraryType {
  readonly kind: string;
  readonly name: string;
  readonly keyType?: LibraryType;
  readonly valueType?: LibraryType;
  readonly hasDynType: boolean;
  /** Whether the type has type parameters, which stand for any type. */
  readonly hasPlaceholderType: boolean;
  isDynOrBool(): boolean;
  matches(other: LibraryType): boolean;
}

/** The names that an expression can use. A name that a macro adds hides an outer name. */
export interface Scope {
  forkWithVariable(name: string, type: LibraryType): InnerScope;
}

export interface InnerScope extends Scope {
  /** The same scope inside the `outer` scope of one evaluation. */
  reuse(outer: Scope): InnerScope;
  setIterValue(value: unknown, evaluator: Evaluator): InnerScope;
}

export interface Checker {
  check(node: ASTNode, scope: Scope): LibraryType;
  getType(name: string): LibraryType;
  createError(code: string, message: string, node: ASTNode): Error;
  /** The type of a field of a value. Throws for a field that its type does not have. */
  // oxlint-disable-next-line max-params -- what the library takes
  checkAccessOnType(node: ASTNode, scope: Scope, holder: LibraryType): LibraryType;
}

interface Evaluator {
  run(node: ASTNode, scope: Scope): unknown;
  debugType(value: unknown): { fieldLazy(...given: unknown[]): unknown };
}

interface MacroBody {
  check(given: { readonly checker: Checker; readonly scope: Scope }): LibraryType;
  run(given: { readonly evaluator: Evaluator; readonly scope: Scope }): unknown;
}

/** One use of a macro, in the form that the library calls. The meter finds the parts of the expression among its fields. */
export function libraryMacro(
  parts: Readonly<Record<string, ASTNode | undefined>>,
  { check, run }: MacroBody,
): Readonly<Record<string, unknown>> {
  return {
    ...parts,
    async: false,
    // oxlint-disable-next-line max-params -- what the library gives
    typeCheck: (checker: Checker, _macro: unknown, scope: Scope) => check({ checker, scope }),
    // oxlint-disable-next-line max-params -- what the library gives
    evaluate: (evaluator: Evaluator, _macro: unknown, scope: Scope) => run({ evaluator, scope }),
  };
}
