import type { Schema } from "../../../src/machinery/schema/schema.ts";
import { hostileText } from "../mutations/hostile-text.ts";
import { hostileValue } from "../mutations/mutate-json.ts";
import { generateValue } from "./generate-value.ts";
import type { JsonObject } from "./generate-value.ts";
import { anyOf, inPercent } from "./generator-context.ts";
import type { GeneratorContext } from "./generator-context.ts";

const operations = ["add", "replace", "remove", "test", "copy", "move"] as const;

/** JSON patch: operations at fields that the schema has, on what they hold, and beside them. */
export function generateJsonPatch(schema: Schema, context: GeneratorContext): unknown {
  const { random } = context;
  const count = inPercent(random, 1) ? random.pick([100, 1_000, 10_001]) : random.pick([1, 1, 2, 3, 5]);
  const one = (): JsonObject => {
    const { pointer, schema: at, field } = generatePointer(schema, context);
    const value = inPercent(random, 70) ? generateValue(at, field, context, 2) : hostileValue(random);
    const from = generatePointer(schema, context).pointer;
    return { op: random.pick([...operations]), path: pointer, value, from };
  };
  // Thousands of operations need not all differ.
  const some = Array.from({ length: Math.min(count, 20) }, one);
  return Array.from({ length: count }, (_, index) => some[index % some.length]);
}

function generatePointer(
  schema: Schema,
  { random }: GeneratorContext,
): { readonly pointer: string; readonly schema: Schema; readonly field: string } {
  let at = schema;
  let field = "";
  let pointer = "";
  for (let depth = random.integer(0, 5); depth > 0; depth--) {
    if (at.type === "object") {
      const names = Object.keys(at.fields);
      if (names.length === 0) break;
      field = anyOf(random, names);
      at = at.fields[field]?.schema ?? at;
      pointer += `/${field}`;
    } else if (at.type === "array") {
      at = at.items;
      pointer += random.pick(["/0", "/-", "/1", "/-1", "/99999999999999999999"]);
    } else if (at.type === "map") {
      at = at.values;
      pointer += `/${inPercent(random, 60) ? "a" : hostileText(random).replaceAll("~", "~0").replaceAll("/", "~1")}`;
    } else break;
  }
  return { pointer: inPercent(random, 95) ? pointer : pointer + hostileText(random), schema: at, field };
}

const directives: readonly JsonObject[] = [
  { $patch: "delete" },
  { $patch: "replace" },
  { $patch: "merge" },
  { $patch: "explode" },
  { $retainKeys: ["name", "spec"] },
  { $retainKeys: "x" },
  { "$setElementOrder/finalizers": ["a", "b"] },
  { "$setElementOrder/conditions": [{ type: "Ready" }, null] },
  { "$deleteFromPrimitiveList/finalizers": ["example.com/hold"] },
  { "$deleteFromPrimitiveList/finalizers": {} },
];

/** Merge patch (RFC 7396): a part of an object, with nulls in it. */
export function generateMergePatch(object: JsonObject, { random }: GeneratorContext): JsonObject {
  return withMembers(object, (member) => (inPercent(random, 15) ? null : member));
}

/** Strategic merge patch: a merge patch with directives in some of its objects. */
export function generateStrategicPatch(object: JsonObject, context: GeneratorContext): JsonObject {
  const { random } = context;
  return withMembers(generateMergePatch(object, context), (member) =>
    isObject(member) && inPercent(random, 25) ? { ...member, ...anyOf(random, directives) } : member,
  );
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A copy in which each member is changed after its own members. */
function withMembers(object: JsonObject, change: (member: unknown) => unknown): JsonObject {
  const changed = (member: unknown): unknown => {
    if (Array.isArray(member)) return change(member.map(changed));
    return change(isObject(member) ? withMembers(member, change) : member);
  };
  return Object.fromEntries(Object.entries(object).map(([name, member]) => [name, changed(member)]));
}
