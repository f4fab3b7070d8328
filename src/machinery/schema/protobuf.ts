import { JsonSyntaxError, parseJson } from "./parse-json.ts";
import { scalarCodecs } from "./protobuf-scalar.ts";
import { bytesType, ProtobufError, ProtobufReader, ProtobufWriter } from "./protobuf-wire.ts";
import type { Field, ObjectSchema, Schema } from "./schema.ts";

export { ProtobufError } from "./protobuf-wire.ts";

/**
 * Encodes a decoded object, byte for byte like Kubernetes' generated code: fields that are not pointers are written
 * even when they are empty, and maps are in key order.
 */
export function encodeProtobuf<T>(schema: ObjectSchema<T>, value: T): Buffer {
  const writer = new ProtobufWriter();
  writeObject(writer, schema, value);
  return writer.finish();
}

/**
 * Converts a message to the JSON value that `decode` takes. Checks only the encoding. As protobuf requires, fields that
 * the schema does not name are skipped. Throws a ProtobufError.
 */
export function decodeProtobuf(schema: ObjectSchema, bytes: Uint8Array): Record<string, unknown> {
  return readObject(ProtobufReader.bounded(bytes), schema);
}

interface NumberedField extends Field {
  readonly name: string;
}

/** A message whose fields belong to the surrounding object (Go's inlined structs). */
interface EmbeddedMessage {
  readonly number: number;
  readonly embedded: Message;
}

type MessageField = NumberedField | EmbeddedMessage;

interface Message {
  readonly byNumber: ReadonlyMap<number, MessageField>;
  readonly lastToFirst: readonly MessageField[];
}

const messages = new WeakMap<ObjectSchema, Message>();

function messageOf(schema: ObjectSchema): Message {
  const known = messages.get(schema);
  if (known !== undefined) return known;
  const numbered = Object.entries(schema.fields)
    .map(([name, field]) => ({ name, ...field }))
    .filter((field) => field.number !== 0);
  const embedded = Map.groupBy(
    numbered.filter((field) => field.embeddedIn !== undefined),
    (field) => field.embeddedIn,
  );
  const message = messageWith([
    ...numbered.filter((field) => field.embeddedIn === undefined),
    ...[...embedded].map(([number = 0, fields]) => ({ number, embedded: messageWith(fields) })),
  ]);
  messages.set(schema, message);
  return message;
}

const messageWith = (fields: readonly MessageField[]): Message => ({
  byNumber: new Map(fields.map((field) => [field.number, field])),
  lastToFirst: fields.toSorted((a, b) => b.number - a.number),
});

// ---- writing: always last to first ------------------------------------------------------------

/** A value and its schema. For null and undefined, writes what Go writes for a value that was never set. */
interface TaggedValue {
  readonly number: number;
  readonly schema: Schema;
  readonly value: unknown;
}

const writeObject = (writer: ProtobufWriter, schema: ObjectSchema, value: unknown): void =>
  // The same schema decoded the value.
  writeFields(writer, messageOf(schema), (value ?? {}) as Readonly<Record<string, unknown>>);

function writeFields(writer: ProtobufWriter, message: Message, object: Readonly<Record<string, unknown>>): void {
  for (const messageField of message.lastToFirst) {
    if ("embedded" in messageField) {
      writer.message(() => writeFields(writer, messageField.embedded, object));
      writer.tag(messageField.number, bytesType);
      continue;
    }
    const { name, number, schema: fieldSchema, presence } = messageField;
    const field = { number, schema: fieldSchema, value: object[name] };
    if (fieldSchema.type === "map") writeMap(writer, field, fieldSchema.values);
    else if (fieldSchema.type === "array" && fieldSchema.goType === undefined)
      writeList(writer, field, fieldSchema.items);
    else if ((field.value ?? undefined) !== undefined || presence !== "pointer") writeTagged(writer, field);
  }
}

function writeList(writer: ProtobufWriter, { number, value }: Omit<TaggedValue, "schema">, items: Schema): void {
  const list = (value ?? []) as readonly unknown[]; // the same schema decoded it
  for (let index = list.length - 1; index >= 0; index -= 1) {
    writeTagged(writer, { number, schema: items, value: list[index] });
  }
}

function writeMap(writer: ProtobufWriter, { number, value }: Omit<TaggedValue, "schema">, values: Schema): void {
  const map = (value ?? {}) as Readonly<Record<string, unknown>>; // the same schema decoded it
  for (const key of Object.keys(map).sort().reverse()) {
    writer.message(() => {
      writeTagged(writer, { number: 2, schema: values, value: map[key] });
      writer.string(key);
      writer.tag(1, bytesType);
    });
    writer.tag(number, bytesType);
  }
}

function writeTagged(writer: ProtobufWriter, { number, schema, value }: TaggedValue): void {
  if (schema.type === "map") throw new TypeError("protobuf has no lists of maps");
  if (schema.type === "object") writer.message(() => writeObject(writer, schema, value));
  else if (schema.type === "array") writer.message(() => writeList(writer, { number: 1, value }, schema.items));
  else if (schema.type === "any") writer.message(() => writeRawJson(writer, value));
  else {
    const codec = scalarCodecs[schema.type];
    const written = value ?? codec.empty;
    if (written === undefined) return;
    codec.write(writer, written);
    writer.tag(number, codec.wireType);
    return;
  }
  writer.tag(number, bytesType);
}

/** FieldsV1 and RawExtension are messages that contain JSON text. */
function writeRawJson(writer: ProtobufWriter, value: unknown): void {
  if (value === undefined || value === null) return;
  writer.string(JSON.stringify(value));
  writer.tag(1, bytesType);
}

// ---- reading ----------------------------------------------------------------------------------

function readObject(reader: ProtobufReader, schema: ObjectSchema): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  readFields(reader, messageOf(schema), object);
  return object;
}

function readFields(reader: ProtobufReader, { byNumber }: Message, object: Record<string, unknown>): void {
  const maps = new Map<string, [string, unknown][]>();
  for (let number = reader.nextField(); number !== 0; number = reader.nextField()) {
    const field = byNumber.get(number);
    if (field === undefined) {
      reader.skip();
    } else if ("embedded" in field) {
      readFields(reader.message(), field.embedded, object);
    } else if (field.schema.type === "map") {
      const entries = maps.get(field.name) ?? [];
      entries.push(readMapEntry(reader.message(), field.schema.values));
      maps.set(field.name, entries);
    } else if (field.schema.type === "array" && field.schema.goType === undefined) {
      const list = (object[field.name] ??= []) as unknown[]; // made here
      list.push(readValue(reader, field.schema.items));
    } else {
      object[field.name] = readValue(reader, field.schema);
    }
  }
  // fromEntries can create own members with names like __proto__.
  for (const [name, entries] of maps) object[name] = Object.fromEntries(entries);
}

function readMapEntry(entry: ProtobufReader, values: Schema): [string, unknown] {
  let key = "";
  let value: unknown = null;
  for (let number = entry.nextField(); number !== 0; number = entry.nextField()) {
    if (number === 1) key = entry.string();
    else if (number === 2) value = readValue(entry, values);
    else entry.skip();
  }
  return [key, value];
}

function readValue(reader: ProtobufReader, schema: Schema): unknown {
  if (schema.type === "map") throw new TypeError("protobuf has no lists of maps");
  if (schema.type === "object") return readObject(reader.message(), schema);
  if (schema.type === "array") return readNamedList(reader.message(), schema.items);
  if (schema.type === "any") return readRawJson(reader.message());
  return scalarCodecs[schema.type].read(reader);
}

function readNamedList(message: ProtobufReader, items: Schema): unknown[] {
  const list: unknown[] = [];
  for (let number = message.nextField(); number !== 0; number = message.nextField()) {
    if (number === 1) list.push(readValue(message, items));
    else message.skip();
  }
  return list;
}

function readRawJson(message: ProtobufReader): unknown {
  let text = "null";
  for (let number = message.nextField(); number !== 0; number = message.nextField()) {
    if (number === 1) text = message.string();
    else message.skip();
  }
  try {
    return parseJson(text).value;
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new ProtobufError(error.message);
    throw error;
  }
}
