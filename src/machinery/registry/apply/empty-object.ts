import type { Field, ObjectSchema, Schema } from "../../schema/schema.ts";
import type { JsonObject } from "../patch/json-value.ts";

const known = new WeakMap<ObjectSchema, JsonObject>();

/**
 * The object of a kind before anybody wrote to it: the fields that are always there, with their empty values. What a
 * create adds is told from this, so a struct that is always there is nobody's. Shared; never changed.
 */
export function emptyObject(schema: ObjectSchema): Readonly<JsonObject> {
  let empty = known.get(schema);
  if (empty === undefined) {
    empty = { ...alwaysFields(schema), ...(Object.hasOwn(schema.fields, "metadata") && { metadata: {} }) };
    known.set(schema, empty);
  }
  return empty;
}

function alwaysFields(schema: ObjectSchema): JsonObject {
  const isAlways = ([, { presence }]: readonly [string, Field]): boolean =>
    presence === "always" || presence === "nullable";
  return Object.fromEntries(
    Object.entries(schema.fields)
      .filter(isAlways)
      .map(([name, { schema: ofField, presence }]) => [name, presence === "nullable" ? null : emptyValue(ofField)]),
  );
}

function emptyValue(schema: Schema): unknown {
  if (schema.type === "object") return alwaysFields(schema);
  if (schema.type === "string") return "";
  if (schema.type === "boolean") return false;
  return schema.type === "int32" || schema.type === "int64" || schema.type === "double" ? 0 : null;
}
