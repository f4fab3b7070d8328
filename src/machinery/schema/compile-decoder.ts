import { isJsonObject } from "../api/json/json-object.ts";
import { DecodeContext, MapKey } from "./decode-context.ts";
import type { Reading } from "./decode-context.ts";
import type { Decoder } from "./decode-scalar.ts";
import { scalarDecoder } from "./decode-scalar.ts";
import { valueBeforeNull } from "./json-reader.ts";
import type { MemberPlace } from "./json-reader.ts";
import { withSentEmpty } from "./sent-empty.ts";
import type { ArraySchema, Field, MapSchema, ObjectSchema, ScalarType, Schema } from "./schema.ts";

export interface Decoded<T> {
  readonly value: T;
  /** Members that are not in the schema, such as `secrets[0].y`: in document order, at most 100. */
  readonly unknownFields: MemberPlace[];
}

/**
 * Makes the function that decodes the values of a schema: it checks their JSON types, removes unknown fields, applies defaults and makes
 * the value canonical: fields in schema order, maps in key order, presence as after Go's decoding and encoding, times in UTC, base64 with
 * padding. The result may share parts with the given value. Neither is ever changed.
 *
 * Throws a TypeMismatch in Go's words, for the fault that Go's decoder reports: the first time or quantity that cannot be read, or else the
 * first fault in document order.
 */
export function compileDecoder<T>(schema: ObjectSchema<T>): (value: unknown, reading?: Reading) => Decoded<T> {
  const decoder = decoderOf(schema);
  return (value, reading) => {
    const context = new DecodeContext(reading);
    const decoded = decoder(value ?? {}, context) as T; // the schema's decoder makes the schema's type
    context.throwSaved();
    return { value: decoded, unknownFields: context.unknownFields };
  };
}

function decoderOf(schema: Schema): Decoder {
  if (schema.type === "any") return (value) => value;
  if (schema.type === "object") return objectDecoder(schema);
  if (schema.type === "array") return arrayDecoder(schema);
  if (schema.type === "map") return mapDecoder(schema);
  return scalarDecoder(schema);
}

interface FieldDecoder {
  readonly name: string;
  readonly decode: Decoder;
  /** Returns the final value of the field; undefined when the field is absent. */
  finalValue(value: unknown): unknown;
  readonly distinguishesEmpty: boolean;
  /** Whether a null leaves the value that an earlier member of the same name has set. */
  readonly ignoresNull: boolean;
}

/** The types whose values in Go a null leaves as they are, unless the field is a pointer. It empties lists, maps and times. */
const typesThatIgnoreNull: ReadonlySet<Schema["type"]> = new Set(["object", "string", "boolean", "int32", "int64"]);

function objectDecoder(schema: ObjectSchema): Decoder {
  const fields = Object.entries(schema.fields).map(([name, field]) => fieldDecoder(name, field));
  const indexes = new Map(fields.map(({ name }, index) => [name, index]));
  const distinguishing = fields.filter(({ distinguishesEmpty }) => distinguishesEmpty);
  /** Copied for each object, because a list that grows with its items takes more memory. */
  const noValues: readonly unknown[] = fields.map(() => undefined);
  const struct = schema.goType.slice(schema.goType.lastIndexOf(".") + 1);
  return (value, context) => {
    if (!isJsonObject(value)) return context.saveMismatch(value, { schema });
    const outerStruct = context.struct;
    context.struct = struct;
    const values = [...noValues];
    const depth = context.path.push("") - 1;
    for (const key in value) {
      const index = indexes.get(key);
      const field = index === undefined ? undefined : fields[index];
      const member = value[key];
      if (index === undefined || field === undefined) {
        context.addUnknownField(key, { object: value, depth });
        continue;
      }
      const sent = member ?? (field.ignoresNull ? valueBeforeNull(value, key) : undefined);
      if (sent === undefined) continue;
      context.path[depth] = key;
      context.container = value;
      values[index] = field.decode(sent, context);
    }
    context.path.pop();
    context.struct = outerStruct;
    const object: Record<string, unknown> = {};
    for (let index = 0; index < fields.length; index += 1) {
      const final = fields[index]?.finalValue(values[index]);
      if (final !== undefined) object[fields[index]?.name ?? ""] = final;
    }
    if (distinguishing.length === 0) return object;
    const isLeftOut = ({ name }: FieldDecoder): boolean =>
      values[indexes.get(name) ?? -1] !== undefined && object[name] === undefined;
    return withSentEmpty(
      object,
      distinguishing.filter((field) => isLeftOut(field)).map(({ name }) => name),
    );
  };
}

function fieldDecoder(name: string, field: Field): FieldDecoder {
  const { schema } = field;
  const presence = field.presence ?? "omitEmpty";
  const decode = decoderOf(schema);
  const isCollection = schema.type === "array" || schema.type === "map";
  const withoutValue = (): unknown => {
    if (field.default !== undefined) return structuredClone(field.default);
    if (presence === "nullable") return null;
    return presence === "always" ? emptyValue(schema, decode) : undefined;
  };
  const isPointer = presence === "pointer" || presence === "nullable";
  const keepsEmpty = isPointer && !isCollection;
  const hasMembers = isCollection || schema.type === "object";
  const keepsWithoutMembers = (presence === "pointer" || presence === "always") && hasMembers;
  return {
    name,
    decode,
    distinguishesEmpty: field.distinguishesEmpty === true,
    ignoresNull: !isPointer && typesThatIgnoreNull.has(schema.type),
    finalValue: (value) => {
      if (value === undefined || value === null) return withoutValue();
      if (keepsEmpty || schema.type === "any" || !isEmpty(value)) return value;
      return keepsWithoutMembers ? value : withoutValue();
    },
  };
}

function arrayDecoder(schema: ArraySchema): Decoder {
  const decodeItem = decoderOf(schema.items);
  return (value, context) => {
    if (!Array.isArray(value)) return context.saveMismatch(value, { schema });
    const items: unknown[] = [];
    const depth = context.path.push(0) - 1;
    for (let index = 0; index < value.length; index += 1) {
      const item: unknown = value[index];
      context.path[depth] = index;
      context.container = value;
      items.push(
        item === null || item === undefined ? emptyValue(schema.items, decodeItem) : decodeItem(item, context),
      );
    }
    context.path.pop();
    return items;
  };
}

function mapDecoder(schema: MapSchema): Decoder {
  const decodeValue = decoderOf(schema.values);
  return (value, context) => {
    if (!isJsonObject(value)) return context.saveMismatch(value, { schema });
    const keys = Object.keys(value);
    const decoded: unknown[] = [];
    let isCanonical = true;
    let previousKey = "";
    const pathElement = new MapKey();
    context.path.push(pathElement);
    for (const key of keys) {
      const member = value[key];
      pathElement.key = key;
      context.container = value;
      const item =
        member === null || member === undefined ? emptyValue(schema.values, decodeValue) : decodeValue(member, context);
      decoded.push(item);
      isCanonical &&= item === member && previousKey <= key;
      previousKey = key;
    }
    context.path.pop();
    if (isCanonical) return value;
    const entries = keys.map((key, index): [string, unknown] => [key, decoded[index]]);
    // fromEntries can create own members with names like __proto__.
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  };
}

/** What Go encodes for a value that was never set. */
function emptyValue(schema: Schema, decode: Decoder): unknown {
  if (schema.type === "object") return decode({}, new DecodeContext());
  if (schema.type === "any" || schema.type === "array" || schema.type === "map") return null;
  return emptyScalars[schema.type];
}

const emptyScalars: Readonly<Record<ScalarType, unknown>> = {
  string: "",
  boolean: false,
  int32: 0,
  int64: 0,
  bytes: "",
  time: null,
  microTime: null,
  quantity: "0",
  intOrString: 0,
};

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === "" || value === 0 || value === false;
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value) return false;
  return true;
}
