import type { ObjectSchema, Schema } from "../../schema/schema.ts";
import { isJsonObject } from "../../api/json-object.ts";

type AddTimes = (value: unknown) => unknown;

/**
 * Makes the function that adds null for the times that a struct always has. In Go they are values: the writer of the struct
 * owns them, although JSON leaves them out. It shares everything else with the given value.
 */
export const compileOwnTimes = (schema: Schema): AddTimes => addTimes(schema) ?? ((value) => value);

/** Undefined for a schema without such times, as most are. */
function addTimes(schema: Schema): AddTimes | undefined {
  if (schema.type === "array") {
    const add = schema.list === "atomic" ? undefined : addTimes(schema.items);
    return add && ((value) => (Array.isArray(value) ? value.map(add) : value));
  }
  if (schema.type === "map") {
    const add = addTimes(schema.values);
    return add && ((value) => (isJsonObject(value) ? mapValues(value, add) : value));
  }
  if (schema.type !== "object" || schema.isAtomic === true) return undefined;
  const times = ownTimes(schema);
  const below = Object.entries(schema.fields).flatMap(([name, field]) => {
    const add = addTimes(field.schema);
    return add === undefined ? [] : [{ name, add }];
  });
  if (times.length === 0 && below.length === 0) return undefined;
  return (value) => {
    if (!isJsonObject(value)) return value;
    const object = { ...value };
    for (const { name, add } of below) if (Object.hasOwn(value, name)) object[name] = add(value[name]);
    for (const name of times) object[name] ??= null;
    return object;
  };
}

const mapValues = (map: Readonly<Record<string, unknown>>, change: AddTimes): Record<string, unknown> =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]));

const ownTimes = (schema: ObjectSchema): string[] =>
  Object.keys(schema.fields).filter((name) => {
    const field = schema.fields[name];
    // Every object has a creationTimestamp, and no manager owns it.
    return field?.schema.type === "time" && field.presence !== "pointer" && name !== "creationTimestamp";
  });
