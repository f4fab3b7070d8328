import { setMember } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import { JsonSyntaxError } from "../json-reader.ts";
import { parseJson } from "../parse-json.ts";
import { scalarCodecs } from "./protobuf-scalar.ts";
import { ProtobufError, ProtobufReader, ProtobufWriter } from "./protobuf-wire.ts";
import type { Field, ObjectSchema, Schema } from "../schema.ts";

/** Encodes and decodes the objects of one schema. */
export interface ProtobufCodec<T = unknown> {
  /**
   * Encodes a decoded object, byte for byte like Kubernetes' generated code: fields that are not pointers are written
   * even when they are empty, and maps are in key order.
   */
  encode(value: T): Buffer;
  /**
   * Converts a message to the JSON value that decoding takes. Checks only the encoding. As protobuf requires, fields that
   * the schema does not name are skipped. Throws a ProtobufError.
   */
  decode(bytes: Uint8Array): Record<string, unknown>;
}

export function compileProtobuf<T>(schema: ObjectSchema<T>): ProtobufCodec<T> {
  const message = messageOf(schema);
  return {
    encode(value) {
      const writer = new ProtobufWriter();
      writeMessage(writer, message, value);
      return writer.finish();
    },
    decode: (bytes) => readMessage(ProtobufReader.bounded(bytes), message, {}),
  };
}

/** A field of a message, by its number. */
interface MessageField {
  readonly number: number;
  /** Writes the field's part of an object, with tags. */
  write(writer: ProtobufWriter, object: Readonly<JsonObject>): void;
  /** Reads the value behind a tag. Earlier values of the field in the object are kept, as protobuf requires. */
  read(reader: ProtobufReader, object: JsonObject): void;
}

interface Message {
  readonly byNumber: ReadonlyMap<number, MessageField>;
  readonly lastToFirst: readonly MessageField[];
}

/**
 * How a value is written with its tag, and read behind the tag. For null and undefined, writes what Go writes for a value that was never
 * set.
 */
interface ValueCodec {
  write(writer: ProtobufWriter, number: number, value: unknown): void;
  /** An object is merged into the earlier value of its number. Any other value replaces the earlier one. */
  read(reader: ProtobufReader, before: unknown): unknown;
}

function messageOf(schema: ObjectSchema): Message {
  return messageAt(
    Object.entries(schema.fields).filter(([, { number }]) => number !== 0),
    0,
  );
}

/** The message that contains the fields whose embedding is at least this deep. */
function messageAt(fields: readonly (readonly [string, Field])[], depth: number): Message {
  const embedded = Map.groupBy(fields, ([, { embeddedIn }]) => embeddedIn?.[depth]);
  return messageWith(
    [...embedded].flatMap(([number, inside]) =>
      number === undefined ? inside.map(fieldOf) : [embeddedMessage(number, messageAt(inside, depth + 1))],
    ),
  );
}

const messageWith = (fields: readonly MessageField[]): Message => ({
  byNumber: new Map(fields.map((field) => [field.number, field])),
  lastToFirst: fields.toSorted((a, b) => b.number - a.number),
});

// Writing is always last to first: the length of what follows is known.
// oxlint-disable-next-line max-params -- called for every message in a message: an object each would cost
function writeMessage(writer: ProtobufWriter, { lastToFirst }: Message, object: unknown): void {
  const members = (object ?? {}) as Readonly<JsonObject>; // the same schema decoded it
  for (const field of lastToFirst) field.write(writer, members);
}

// oxlint-disable-next-line max-params -- called for every message in a message: an object each would cost
function readMessage(reader: ProtobufReader, { byNumber }: Message, object: JsonObject): JsonObject {
  while (reader.nextField()) byNumber.get(reader.field)?.read(reader, object);
  return object;
}

/** A message whose fields belong to the surrounding object (Go's inlined structs). */
const embeddedMessage = (number: number, message: Message): MessageField => ({
  number,
  write(writer, object) {
    writer.messageField(number, () => writeMessage(writer, message, object));
  },
  read: (reader, object) => void readMessage(reader.message(), message, object),
});

function fieldOf([name, { number, schema, presence }]: readonly [string, Field]): MessageField {
  if (schema.type === "map") return mapField(name, { number, values: valueCodec(schema.values) });
  if (schema.type === "array" && schema.goType === undefined)
    return listField(name, { number, items: valueCodec(schema.items) });
  const codec = valueCodec(schema);
  const isPointer = presence === "pointer" || presence === "nullable";
  return {
    number,
    write(writer, object) {
      const value = object[name] ?? undefined;
      if (value !== undefined || !isPointer) codec.write(writer, number, value);
    },
    read(reader, object) {
      object[name] = codec.read(reader, object[name]);
    },
  };
}

const listField = (
  name: string,
  { number, items }: { readonly number: number; readonly items: ValueCodec },
): MessageField => ({
  number,
  write: (writer, object) => writeList(writer, { number, items, list: object[name] }),
  read(reader, object) {
    const list = (object[name] ??= []) as unknown[]; // this file made it
    list.push(items.read(reader, undefined));
  },
});

function writeList(
  writer: ProtobufWriter,
  { number, items, list }: { readonly number: number; readonly items: ValueCodec; readonly list: unknown },
): void {
  const values = (list ?? []) as readonly unknown[]; // the same schema decoded it
  for (let index = values.length - 1; index >= 0; index -= 1) items.write(writer, number, values[index]);
}

const mapField = (
  name: string,
  { number, values }: { readonly number: number; readonly values: ValueCodec },
): MessageField => ({
  number,
  write(writer, object) {
    const map = (object[name] ?? {}) as Readonly<JsonObject>; // the same schema decoded it
    for (const key of Object.keys(map).sort().reverse()) {
      writer.messageField(number, () => {
        values.write(writer, 2, map[key]);
        writer.stringField(1, key);
      });
    }
  },
  read(reader, object) {
    const map = (object[name] ??= {}) as JsonObject; // this file made it
    const [key, value] = readMapEntry(reader.message(), values);
    setMember(map, key, value);
  },
});

function readMapEntry(entry: ProtobufReader, values: ValueCodec): [string, unknown] {
  let key = "";
  let value: unknown = null;
  while (entry.nextField()) {
    if (entry.field === 1) key = entry.string();
    else if (entry.field === 2) value = values.read(entry, value);
  }
  return [key, value];
}

function valueCodec(schema: Schema): ValueCodec {
  if (schema.type === "map") throw new TypeError("protobuf has no lists of maps");
  if (schema.type === "any") return messageCodec(writeRawJson, readRawJson);
  if (schema.type === "object") {
    const message = messageOf(schema);
    return messageCodec(
      (writer, value) => writeMessage(writer, message, value),
      (reader, before) => readMessage(reader, message, (before ?? {}) as JsonObject), // the same schema decoded it
    );
  }
  if (schema.type === "array") {
    const items = valueCodec(schema.items);
    return messageCodec(
      (writer, list) => writeList(writer, { number: 1, items, list }),
      (message) => readNamedList(message, items),
    );
  }
  const { write, read, wireType, empty } = scalarCodecs[schema.type];
  return {
    // oxlint-disable-next-line max-params -- called for every field: an object each would cost
    write(writer, number, value) {
      const written = value ?? empty;
      if (written === undefined) return;
      write(writer, written);
      writer.tag(number, wireType);
    },
    read,
  };
}

const messageCodec = (
  write: (writer: ProtobufWriter, value: unknown) => void,
  read: (message: ProtobufReader, before: unknown) => unknown,
): ValueCodec => ({
  // oxlint-disable-next-line max-params -- called for every field: an object each would cost
  write(writer, number, value) {
    writer.messageField(number, () => write(writer, value));
  },
  read: (reader, before) => read(reader.message(), before),
});

function readNamedList(message: ProtobufReader, items: ValueCodec): unknown[] {
  const list: unknown[] = [];
  while (message.nextField()) {
    if (message.field === 1) list.push(items.read(message, undefined));
  }
  return list;
}

/** FieldsV1 and RawExtension are messages that contain JSON text. */
function writeRawJson(writer: ProtobufWriter, value: unknown): void {
  if (value === undefined || value === null) return;
  writer.stringField(1, JSON.stringify(value));
}

function readRawJson(message: ProtobufReader): unknown {
  let text = "";
  while (message.nextField()) {
    if (message.field === 1) text = message.jsonText();
  }
  if (text === "") return null;
  try {
    return parseJson(text).value;
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new ProtobufError(error.message);
    throw error;
  }
}
