import { formatMicroTime, formatTime, isWritableTime, isZeroTime, parseMicroTime, parseTime } from "../go-time.ts";
import type { GoTime } from "../go-time.ts";
import { bytesType, ProtobufError, varintType } from "./protobuf-wire.ts";
import type { ProtobufReader, ProtobufWriter, WireType } from "./protobuf-wire.ts";
import type { ScalarType } from "../schema.ts";

/** How a scalar is encoded. `write` takes the canonical JSON value; `read` returns one. */
export interface ScalarCodec {
  readonly wireType: WireType;
  write(writer: ProtobufWriter, value: unknown): void;
  read(reader: ProtobufReader): unknown;
  /** What Go writes for a field that was never set. */
  readonly empty: unknown;
}

const integer = (read: (reader: ProtobufReader) => number): ScalarCodec => ({
  wireType: varintType,
  write: (writer, value) => writer.varint(Number(value)),
  read,
  empty: 0,
});

/** A time is a message of seconds and nanoseconds. The zero time is an empty message. */
const timeCodec = (parse: (text: string) => GoTime, format: (time: GoTime) => string): ScalarCodec => ({
  wireType: bytesType,
  write: (writer, value) =>
    writer.message(() => {
      const time = typeof value === "string" && value !== "" ? parse(value) : undefined;
      if (time === undefined || isZeroTime(time)) return;
      writer.varintField(2, time.nanoseconds);
      writer.varintField(1, time.seconds);
    }),
  read: (reader) => {
    const message = reader.message();
    let isEmpty = true;
    let seconds = 0;
    let nanoseconds = 0;
    while (message.nextField()) {
      isEmpty = false;
      if (message.field === 1) seconds = message.int64();
      else if (message.field === 2) nanoseconds = message.int32();
    }
    if (isEmpty || isZeroTime({ seconds, nanoseconds })) return null;
    if (!isWritableTime({ seconds, nanoseconds })) {
      throw new ProtobufError(`time out of range: ${seconds} s and ${nanoseconds} ns`);
    }
    return format({ seconds, nanoseconds });
  },
  empty: null,
});

/** A union: first the number of the member that is set, then both members. */
const intOrString: ScalarCodec = {
  wireType: bytesType,
  write: (writer, value) =>
    writer.message(() => {
      writer.stringField(3, typeof value === "string" ? value : "");
      writer.varintField(2, typeof value === "number" ? value : 0);
      writer.varintField(1, typeof value === "string" ? 1 : 0);
    }),
  read: (reader) => {
    const message = reader.message();
    let isString = false;
    let number = 0;
    let text = "";
    while (message.nextField()) {
      if (message.field === 1) isString = message.boolean();
      else if (message.field === 2) number = message.int32();
      else if (message.field === 3) text = message.string();
    }
    return isString ? text : number;
  },
  empty: 0,
};

const quantity: ScalarCodec = {
  wireType: bytesType,
  write: (writer, value) =>
    writer.message(() => {
      writer.stringField(1, String(value));
    }),
  read: (reader) => {
    const message = reader.message();
    let text = "0";
    while (message.nextField()) {
      if (message.field === 1) text = message.string();
    }
    return text;
  },
  empty: "0",
};

export const scalarCodecs: Readonly<Record<ScalarType, ScalarCodec>> = {
  string: {
    wireType: bytesType,
    write: (writer, value) => writer.string(String(value)),
    read: (reader) => reader.string(),
    empty: "",
  },
  boolean: {
    wireType: varintType,
    write: (writer, value) => writer.varint(value === true ? 1 : 0),
    read: (reader) => reader.boolean(),
    empty: false,
  },
  int32: integer((reader) => reader.int32()),
  int64: integer((reader) => reader.int64()),
  bytes: {
    wireType: bytesType,
    write: (writer, value) => writer.bytes(Buffer.from(String(value), "base64")),
    read: (reader) => reader.bytes().toString("base64"),
    // A nil slice is not written.
    empty: undefined,
  },
  time: timeCodec(parseTime, formatTime),
  microTime: timeCodec(parseMicroTime, formatMicroTime),
  quantity,
  intOrString,
};
