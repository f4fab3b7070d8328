import { countValues, maximumValues, tooManyValues } from "../value-limit.ts";
import { decodeUtf8 } from "../decode-utf8.ts";
import { largestInt64 } from "../decode-scalar.ts";

/** The bytes are not a valid protobuf message of the expected type. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

/** Wire types of the protobuf encoding; groups (3 and 4) are not used. */
export type WireType = 0 | 1 | 2 | 5;
export const varintType = 0;
const fixed64Type = 1;
export const bytesType = 2;
const fixed32Type = 5;

/** Go also writes empty fields, so a valid message may have more fields than values. */
const fieldsPerValue = 2;

/** No message nests this deep. */
const maximumDepth = 64;

/**
 * Writes a message from its end to its start, like gogo's generated code: the length of a nested message is then known
 * before its prefix is written. Fields, list items and map entries are written last to first.
 */
export class ProtobufWriter {
  #buffer = Buffer.allocUnsafe(512);
  #start = this.#buffer.length;

  /** The number of bytes written so far. */
  get length(): number {
    return this.#buffer.length - this.#start;
  }

  /** Returns the message. Do not use the writer afterwards. */
  finish(): Buffer {
    return this.#buffer.subarray(this.#start);
  }

  tag(field: number, type: WireType): void {
    this.varint(field * 8 + type);
  }

  /** Writes an integer. A negative integer takes ten bytes, in two's complement. */
  varint(value: number): void {
    if (value < 0 || value > Number.MAX_SAFE_INTEGER) return this.#bigVarint(BigInt.asUintN(64, BigInt(value)));
    let size = 1;
    for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size += 1;
    let position = this.#reserve(size);
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#buffer[position++] = (rest % 0x80) + 0x80;
    this.#buffer[position] = rest;
  }

  /** Writes bytes, with their length before them. */
  bytes(value: Uint8Array): void {
    const start = this.#reserve(value.length);
    this.#buffer.set(value, start);
    this.varint(value.length);
  }

  string(value: string): void {
    const size = Buffer.byteLength(value);
    const start = this.#reserve(size);
    this.#buffer.write(value, start, "utf8");
    this.varint(size);
  }

  /** Like the other methods for fields: writes a value and its number, also when it is the default value. */
  stringField(field: number, value: string): void {
    this.string(value);
    this.tag(field, bytesType);
  }

  bytesField(field: number, value: Uint8Array): void {
    this.bytes(value);
    this.tag(field, bytesType);
  }

  varintField(field: number, value: number): void {
    this.varint(value);
    this.tag(field, varintType);
  }

  messageField(field: number, write: () => void): void {
    this.message(write);
    this.tag(field, bytesType);
  }

  /** Writes a nested message, with its length before it. */
  message(write: () => void): void {
    const lengthBefore = this.length;
    write();
    this.varint(this.length - lengthBefore);
  }

  #bigVarint(value: bigint): void {
    const bytes: number[] = [];
    let rest = value;
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    const start = this.#reserve(bytes.length);
    this.#buffer.set(bytes, start);
  }

  #reserve(size: number): number {
    if (size > this.#start) {
      const written = this.length;
      const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, written + size));
      this.#buffer.copy(larger, larger.length - written, this.#start);
      this.#buffer = larger;
      this.#start = larger.length - written;
    }
    this.#start -= size;
    return this.#start;
  }
}

/** How many more fields may be read, counting this message and all messages in it. */
interface FieldBudget {
  remainingFields: number;
}

/**
 * Reads the fields of one message. Throws ProtobufError; for too many fields in a caller's message an ApiError (413).
 */
export class ProtobufReader {
  readonly #bytes: Buffer;
  readonly #depth: number;
  readonly #budget: FieldBudget;
  #position = 0;
  #field = 0;
  #type: WireType = varintType;
  /** Whether the value of the field is still to be read. */
  #isUnread = false;

  /** For a message from a caller: limits the number of fields. */
  static bounded(bytes: Uint8Array): ProtobufReader {
    return new ProtobufReader(bytes, 0, { remainingFields: fieldsPerValue * maximumValues });
  }

  // oxlint-disable-next-line max-params -- called for every message in a message: an object each would cost
  constructor(bytes: Uint8Array, depth = 0, budget: FieldBudget = { remainingFields: Infinity }) {
    if (depth > maximumDepth) throw new ProtobufError("proto: messages are nested too deep");
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#depth = depth;
    this.#budget = budget;
  }

  /** The number of the field whose value comes next. */
  get field(): number {
    return this.#field;
  }

  /** Moves to the next field; false at the end. A value that is not read before the next call is skipped. */
  nextField(): boolean {
    if (this.#isUnread) this.#skip();
    if (this.#position >= this.#bytes.length) return false;
    this.#spend(1);
    const tag = this.#unsigned();
    const type = tag % 8;
    const field = Math.floor(tag / 8);
    if (field < 1 || field > 2 ** 29 - 1) throw new ProtobufError(`proto: illegal tag ${field} (wire type ${type})`);
    if (type !== varintType && type !== fixed64Type && type !== bytesType && type !== fixed32Type) {
      throw new ProtobufError(`proto: illegal wireType ${type}`);
    }
    this.#field = field;
    this.#type = type;
    this.#isUnread = true;
    return true;
  }

  /** Reads the rest of the message, and returns the integer of one field. 0 when the field is absent. */
  int64At(field: number): number {
    let value = 0;
    while (this.nextField()) if (this.#field === field) value = this.int64();
    return value;
  }

  boolean(): boolean {
    this.#expect(varintType);
    return this.#unsigned() !== 0;
  }

  int32(): number {
    this.#expect(varintType);
    return (this.#shortVarint() ?? Number(BigInt.asIntN(32, this.#uint64()))) | 0;
  }

  /** Returns the nearest number for an integer beyond 2^53. */
  int64(): number {
    this.#expect(varintType);
    return this.#shortVarint() ?? Math.min(Number(BigInt.asIntN(64, this.#uint64())), largestInt64);
  }

  /** A view of the bytes, not a copy. */
  bytes(): Buffer {
    this.#expect(bytesType);
    const length = this.#unsigned();
    const start = this.#advance(length);
    return this.#bytes.subarray(start, start + length);
  }

  string(): string {
    return decodeUtf8(this.bytes());
  }

  message(): ProtobufReader {
    return new ProtobufReader(this.bytes(), this.#depth + 1, this.#budget);
  }

  /** Reads JSON text. Its values count against the limit of fields: one message may contain many such texts. */
  jsonText(): string {
    const text = this.string();
    const { remainingFields } = this.#budget;
    this.#spend(fieldsPerValue * countValues(text, remainingFields / fieldsPerValue));
    return text;
  }

  #spend(fields: number): void {
    this.#budget.remainingFields -= fields;
    if (this.#budget.remainingFields < 0) throw tooManyValues();
  }

  #expect(type: WireType): void {
    if (this.#type !== type) throw new ProtobufError(`proto: wrong wireType = ${this.#type}`);
    this.#isUnread = false;
  }

  #skip(): void {
    if (this.#type === varintType) this.#skipVarint();
    else if (this.#type === bytesType) this.bytes();
    else this.#advance(this.#type === fixed64Type ? 8 : 4);
    this.#isUnread = false;
  }

  #skipVarint(): void {
    for (let length = 1; this.#byte() >= 0x80; length++) {
      if (length === 10) throw new ProtobufError("proto: integer overflow");
    }
  }

  #advance(length: number): number {
    const start = this.#position;
    if (length > this.#bytes.length - start) throw new ProtobufError("unexpected EOF");
    this.#position = start + length;
    return start;
  }

  /** Returns the nearest number for an integer beyond 2^53. */
  #unsigned(): number {
    return this.#shortVarint() ?? Number(this.#uint64());
  }

  /** Reads a number of at most seven bytes, as nearly all are. Undefined for a longer number, of which nothing is read. */
  #shortVarint(): number | undefined {
    let value = 0;
    let factor = 1;
    for (let at = this.#position; at < this.#position + 7; at++) {
      const byte = this.#bytes[at];
      if (byte === undefined) throw new ProtobufError("unexpected EOF");
      value += (byte & 0x7f) * factor;
      factor *= 128;
      if (byte >= 0x80) continue;
      this.#position = at + 1;
      return value;
    }
    return undefined;
  }

  #uint64(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new ProtobufError("proto: integer overflow");
  }

  #byte(): number {
    const byte = this.#bytes[this.#position];
    if (byte === undefined) throw new ProtobufError("unexpected EOF");
    this.#position += 1;
    return byte;
  }
}
