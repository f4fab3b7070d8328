import type { ApiList } from "../../api/object-meta.ts";
import { compileDecoder } from "../../schema/compile-decoder.ts";
import type { Reading } from "../../schema/decode-context.ts";
import type { Decoded } from "../../schema/compile-decoder.ts";
import { listSchema } from "../../schema/meta-schemas.ts";
import { compileProtobuf } from "../../schema/protobuf/protobuf.ts";
import type { ProtobufCodec } from "../../schema/protobuf/protobuf.ts";
import type { ObjectSchema, Field, Schema } from "../../schema/schema.ts";
import type { FieldError } from "../../api/validation/field-error.ts";
import { isJsonObject } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import { compileInexactIntegers } from "../writes/inexact-integers.ts";

/** A schema with everything that is computed from it. Each part is computed at its first use, so that the start does not wait, and kept. */
export class CompiledSchema<T = unknown> {
  readonly schema: ObjectSchema<T>;
  #decode: ReturnType<typeof compileDecoder<T>> | undefined;
  #protobuf: ProtobufCodec<T> | undefined;
  #list: CompiledSchema<ApiList<T>> | undefined;
  #emptyObject: Readonly<JsonObject> | undefined;
  #withOwnTimes: ((value: unknown) => unknown) | undefined;
  #inexactIntegers: ((value: unknown) => readonly FieldError[]) | undefined;

  constructor(schema: ObjectSchema<T>) {
    this.schema = schema;
  }

  /** See `compileDecoder`. Throws TypeMismatch. */
  decode(value: unknown, reading?: Reading): Decoded<T> {
    return (this.#decode ??= compileDecoder(this.schema))(value, reading);
  }

  get protobuf(): ProtobufCodec<T> {
    return (this.#protobuf ??= compileProtobuf(this.schema));
  }

  /** The list type, such as `ServiceAccountList`. */
  get list(): CompiledSchema<ApiList<T>> {
    return (this.#list ??= new CompiledSchema(listSchema(this.schema)));
  }

  /** The fields that an object has before its first write. Shared and immutable. */
  get emptyObject(): Readonly<JsonObject> {
    return (this.#emptyObject ??= emptyObject(this.schema));
  }

  /** The faults of integers that JavaScript has rounded: see `compileInexactIntegers`. */
  inexactIntegers(value: unknown): readonly FieldError[] {
    return (this.#inexactIntegers ??= compileInexactIntegers(this.schema))(value);
  }

  /** The value with null for the times that its structs always have: see `compileOwnTimes`. */
  withOwnTimes(value: unknown): unknown {
    return (this.#withOwnTimes ??= compileOwnTimes(this.schema))(value);
  }
}

/**
 * An object of a kind before anyone wrote to it: only the fields that are always present, with their empty values. A
 * create is compared with it, so no manager becomes the owner of a struct that is always present.
 */
const emptyObject = (schema: ObjectSchema): Readonly<JsonObject> => ({
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
  return schema.type === "int32" || schema.type === "int64" ? 0 : null;
}

type AddTimes = (value: unknown) => unknown;

/**
 * Makes the function that adds null for the times that a struct always has. In Go these times are part of the struct, so its writer
 * owns them, although JSON leaves empty ones out. The result shares everything else with the given value.
 */
const compileOwnTimes = (schema: Schema): AddTimes => addTimes(schema) ?? ((value) => value);

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
    // Not creationTimestamp: every object has one, and no manager owns it.
    return field?.schema.type === "time" && field.presence !== "pointer" && name !== "creationTimestamp";
  });
