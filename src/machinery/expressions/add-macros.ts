import { Optional } from "@marcbachmann/cel-js";
import type { ASTNode, Environment } from "@marcbachmann/cel-js";
import { celMapOf } from "./cel-value.ts";
import { compareValues, orderedTypes } from "./compare-values.ts";
import { OverBudget, spendSteps } from "./cost-budget.ts";
import { libraryMacro } from "./library-macro.ts";
import type { Checker, InnerScope, LibraryType as Type, Scope } from "./library-macro.ts";

type Macro = ReturnType<typeof libraryMacro>;

interface MacroUse {
  readonly args: readonly ASTNode[];
  readonly receiver: ASTNode;
}

/** Adds the macros of CEL in Kubernetes that the library lacks. */
export function addMacros(environment: Environment): void {
  const add = (signature: string, expand: (use: MacroUse) => Macro): unknown =>
    environment.registerFunction(signature, expand, { async: false });
  for (const [name, loop] of Object.entries(loops)) {
    add(`list.${name}(ast, ast, ast): dyn`, (use) => twoVariables(use, loop));
    if (loop.hasFilter) add(`list.${name}(ast, ast, ast, ast): dyn`, (use) => twoVariables(use, loop));
  }
  add("optional.optMap(ast, ast): dyn", (use) => optionalMap(use, { isFlat: false }));
  add("optional.optFlatMap(ast, ast): dyn", (use) => optionalMap(use, { isFlat: true }));
  add("list.sortBy(ast, ast): dyn", sortBy);
}

/** How a comprehension with two variables uses the values of its body. */
interface Loop {
  readonly hasFilter: boolean;
  typeOf(body: Type, given: { readonly checker: Checker; readonly key: Type; readonly node: ASTNode }): Type;
  /** `body` evaluates the body for the key that was taken last. */
  run(keys: Iterable<unknown>, body: () => unknown): unknown;
}

const isTrue = (value: unknown): boolean => {
  if (typeof value !== "boolean") throw new Error("no such overload: a predicate must be bool");
  return value;
};

/** A loop that ends with the first value that equals `decision`. As with CEL's `||`, an error counts only when no value does. */
const until =
  (decision: boolean): Loop["run"] =>
  (keys, body) => {
    let fault: { readonly error: unknown } | undefined;
    for (const _key of keys) {
      try {
        if (isTrue(body()) === decision) return decision;
      } catch (error) {
        if (error instanceof OverBudget) throw error;
        fault ??= { error };
      }
    }
    if (fault !== undefined) throw fault.error;
    return !decision;
  };

const predicate: Pick<Loop, "hasFilter" | "typeOf"> = {
  hasFilter: false,
  typeOf(body, { checker, node }) {
    if (body.isDynOrBool()) return checker.getType("bool");
    throw checker.createError("invalid_predicate", `expected type 'bool' but found '${body.name}'`, node);
  },
};

const existsOne: Loop = {
  ...predicate,
  run(keys, body) {
    let count = 0;
    for (const _key of keys) if (isTrue(body())) count += 1;
    return count === 1;
  },
};

const loops: Readonly<Record<string, Loop>> = {
  all: { ...predicate, run: until(false) },
  exists: { ...predicate, run: until(true) },
  existsOne,
  exists_one: existsOne,
  transformList: {
    hasFilter: true,
    typeOf: (body, { checker }) => checker.getType(`list<${body.name}>`),
    run: (keys, body) => Array.from(keys, body),
  },
  transformMap: {
    hasFilter: true,
    typeOf: (body, { checker, key }) => checker.getType(`map<${key.name}, ${body.name}>`),
    run(keys, body) {
      const map = new Map<unknown, unknown>();
      for (const key of keys) map.set(key, body());
      return map;
    },
  },
  transformMapEntry: {
    hasFilter: true,
    typeOf(body, { checker, node }) {
      if (body.kind === "map" || body.kind === "dyn") return body;
      throw checker.createError("invalid_entry", `expected type 'map' but found '${body.name}'`, node);
    },
    run(keys, body) {
      const map = new Map<unknown, unknown>();
      for (const _key of keys) {
        const entries = celMapOf(body());
        if (entries === undefined) throw new Error("no such overload: an entry must be a map");
        spendSteps(entries.size);
        for (const [key, value] of entries) {
          if (map.has(key)) throw new Error(`insert failed: key ${String(key)} already exists`);
          map.set(key, value);
        }
      }
      return map;
    },
  },
};

function twoVariables({ args, receiver }: MacroUse, loop: Loop): Macro {
  const [first, second] = [nameOf(args[0]), nameOf(args[1])];
  if (first === second) throw new Error(`duplicate variable name: ${first}`);
  const [filter, body] = args.length === 4 ? [args[2], args[3]] : [undefined, args[2]];
  if (body === undefined) throw new Error("the macro has no body");
  let scopes: readonly [InnerScope, InnerScope];
  return libraryMacro(
    { receiver, filter, body },
    {
      check({ checker, scope }) {
        const [key, value] = itemTypes(checker.check(receiver, scope), { checker, node: receiver });
        const outer = scope.forkWithVariable(first, key);
        scopes = [outer, outer.forkWithVariable(second, value)];
        if (filter !== undefined) predicate.typeOf(checker.check(filter, scopes[1]), { checker, key, node: filter });
        return loop.typeOf(checker.check(body, scopes[1]), { checker, key, node: body });
      },
      run({ evaluator, scope }) {
        const range = evaluator.run(receiver, scope);
        const outer = scopes[0].reuse(scope);
        const inner = scopes[1].reuse(outer);
        const isList = Array.isArray(range);
        const entries = isList ? range.entries() : celMapOf(range);
        if (entries === undefined) {
          throw new Error("no such overload: the range of a comprehension must be a list or a map");
        }
        const keys = function* (): Iterable<unknown> {
          for (const [index, value] of entries) {
            spendSteps(1);
            const key = isList ? BigInt(index as number) : index; // the index of a list
            outer.setIterValue(key, evaluator);
            inner.setIterValue(value, evaluator);
            if (filter === undefined || isTrue(evaluator.run(filter, inner))) yield key;
          }
        };
        return loop.run(keys(), () => evaluator.run(body, inner));
      },
    },
  );
}

function itemTypes(
  range: Type,
  { checker, node }: { readonly checker: Checker; readonly node: ASTNode },
): [Type, Type] {
  const dyn = checker.getType("dyn");
  if (range.kind === "dyn") return [dyn, dyn];
  if (range.kind === "list") return [checker.getType("int"), range.valueType ?? dyn];
  if (range.kind === "map") return [range.keyType ?? dyn, range.valueType ?? dyn];
  throw notARange(checker, { type: range, node });
}

const notARange = (checker: Checker, { type, node }: { readonly type: Type; readonly node: ASTNode }): Error =>
  checker.createError(
    "invalid_comprehension_range",
    `expression of type '${type.name}' cannot be range of a comprehension (must be list, map, or dynamic)`,
    node,
  );

function optionalMap({ args, receiver }: MacroUse, { isFlat }: { readonly isFlat: boolean }): Macro {
  const name = nameOf(args[0]);
  const body = args[1];
  if (body === undefined) throw new Error("the macro has no body");
  let inner: InnerScope;
  return libraryMacro(
    { receiver, body },
    {
      check({ checker, scope }) {
        const given = optionalType(checker, { node: receiver, scope });
        inner = scope.forkWithVariable(name, given.valueType ?? checker.getType("dyn"));
        if (isFlat) return optionalType(checker, { node: body, scope: inner });
        return checker.getType(`optional<${checker.check(body, inner).name}>`);
      },
      run({ evaluator, scope }) {
        const given = optionalOf(evaluator.run(receiver, scope));
        if (!given.hasValue()) return Optional.none();
        const value = evaluator.run(body, inner.reuse(scope).setIterValue(given.value(), evaluator));
        return isFlat ? optionalOf(value) : Optional.of(value);
      },
    },
  );
}

function optionalType(checker: Checker, { node, scope }: { readonly node: ASTNode; readonly scope: Scope }): Type {
  const type = checker.check(node, scope);
  if (type.kind === "optional") return type;
  if (type.kind === "dyn") return checker.getType("optional<dyn>");
  throw checker.createError("optional_expected", `expected an optional value but found '${type.name}'`, node);
}

function optionalOf(value: unknown): Optional {
  if (value instanceof Optional) return value;
  throw new Error("no such overload: the value must be optional");
}

/** Upstream evaluates the keys once for each item too. */
function sortBy({ args, receiver }: MacroUse): Macro {
  const name = nameOf(args[0]);
  const key = args[1];
  if (key === undefined) throw new Error("the macro has no key");
  let inner: InnerScope;
  return libraryMacro(
    { receiver, key },
    {
      check({ checker, scope }) {
        const list = checker.check(receiver, scope);
        if (list.kind !== "list" && list.kind !== "dyn") throw notARange(checker, { type: list, node: receiver });
        inner = scope.forkWithVariable(name, list.valueType ?? checker.getType("dyn"));
        const type = checker.check(key, inner);
        if (type.kind === "dyn" || orderedTypes.includes(type.name)) return list;
        throw checker.createError("no_order", `values of type '${type.name}' have no order`, key);
      },
      run({ evaluator, scope }) {
        const list = evaluator.run(receiver, scope);
        if (!Array.isArray(list)) throw new Error("no such overload: only a list can be sorted");
        const bound = inner.reuse(scope);
        const keyed = list.map((value: unknown) => ({
          value,
          key: evaluator.run(key, bound.setIterValue(value, evaluator)),
        }));
        return keyed.sort((one, other) => compareValues(one.key, other.key)).map(({ value }) => value);
      },
    },
  );
}

function nameOf(node: ASTNode | undefined): string {
  if (node?.op === "id") return node.args;
  throw new Error("argument must be a simple name");
}
