import { memberSchemaOf } from "../../schema/schema.ts";
import type { ObjectSchema, Schema } from "../../schema/schema.ts";
import { isJsonObject, memberOf, setMember } from "../patch/json-value.ts";

/**
 * Adds null for the times that a struct always has. In Go they are values: the writer of the struct owns them, although
 * JSON leaves them out. Shares everything else with the given value.
 */
export function withOwnTimes(schema: Schema | undefined, value: unknown): unknown {
  if (schema === undefined || !hasOwnTimes(schema)) return value;
  if (schema.type === "array") {
    return Array.isArray(value) ? value.map((entry: unknown) => withOwnTimes(schema.items, entry)) : value;
  }
  if (!isJsonObject(value)) return value;
  const object = { ...value };
  for (const name of Object.keys(value)) {
    setMember(object, name, withOwnTimes(memberSchemaOf(schema, name), memberOf(value, name)));
  }
  if (schema.type === "object") for (const name of ownTimes(schema)) object[name] ??= null;
  return object;
}

const ownTimes = (schema: ObjectSchema): string[] =>
  Object.keys(schema.fields).filter((name) => {
    const field = schema.fields[name];
    // Every object has a creationTimestamp, and no manager owns it.
    return field?.schema.type === "time" && field.presence !== "pointer" && name !== "creationTimestamp";
  });

const known = new WeakMap<Schema, boolean>();

/** Whether there are such times anywhere in a schema. */
function hasOwnTimes(schema: Schema): boolean {
  let has = known.get(schema);
  if (has === undefined) {
    known.set(schema, false); // a recursive schema adds nothing
    has = containsOwnTimes(schema);
    known.set(schema, has);
  }
  return has;
}

function containsOwnTimes(schema: Schema): boolean {
  if (schema.type === "array") return schema.list !== "atomic" && hasOwnTimes(schema.items);
  if (schema.type === "map") return hasOwnTimes(schema.values);
  if (schema.type !== "object" || schema.isAtomic === true) return false;
  return ownTimes(schema).length > 0 || Object.values(schema.fields).some((field) => hasOwnTimes(field.schema));
}
