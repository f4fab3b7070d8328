import type { Field, ObjectSchema, Schema } from "../../schema/schema.ts";
import type { JsonObject } from "../../api/json-object.ts";

/**
 * An object of a kind before anyone wrote to it: only the fields that are always present, with their empty values. A
 * create is compared with it, so nobody becomes the owner of a struct that is always present.
 */
export const emptyObject = (schema: ObjectSchema): Readonly<JsonObject> => ({
  ...alwaysFields(schema),
  ...(Object.hasOwn(schema.fields, "metadata") && { metadata: {} }),
});

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
