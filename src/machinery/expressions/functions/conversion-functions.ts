import type { Environment } from "@marcbachmann/cel-js";
import { UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import { addFunctions } from "../add-functions.ts";
import { doubleText } from "./double-text.ts";
import { characters } from "./string-functions.ts";
import { durationText, nanosecondsOf, readDuration, readTimestamp, timestampOf, timestampText } from "./time-text.ts";

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error("invalid UTF-8 in bytes, cannot convert to string");
  }
}

const truths: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(["1", "t", "true", "TRUE", "True"].map((text) => [text, true])),
  ...Object.fromEntries(["0", "f", "false", "FALSE", "False"].map((text) => [text, false])),
};

function truth(text: string): boolean {
  const value = Object.hasOwn(truths, text) ? truths[text] : undefined;
  return value ?? impossible("bool");
}

const impossible = (to: string): never => {
  throw new Error(`type conversion error from 'string' to '${to}'`);
};

/** No integer has as many digits. A longer text is refused unread. */
const longestNumber = 400;

function integer(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new Error("integer overflow");
  return value;
}

function unsigned(value: bigint): UnsignedInt {
  if (BigInt.asUintN(64, value) !== value) throw new Error("unsigned integer overflow");
  return new UnsignedInt(value);
}

const wholePart = (value: number, limit: number): bigint => {
  if (!(Math.abs(value) < limit)) throw new Error("integer overflow");
  return BigInt(Math.trunc(value));
};

const parseInteger = (text: string): bigint =>
  text.length <= longestNumber && /^[+-]?\d+$/.test(text)
    ? integer(BigInt(text.replace(/^\+/, "")))
    : impossible("int");

const parseUnsigned = (text: string): UnsignedInt =>
  text.length <= longestNumber && /^\d+$/.test(text) ? unsigned(BigInt(text)) : impossible("uint");

function parseDouble(text: string): number {
  const special = /^([+-]?)(?:(inf(?:inity)?)|nan)$/i.exec(text);
  if (special !== null) {
    if (special[2] === undefined) return special[1] === "" ? Number.NaN : impossible("double");
    return special[1] === "-" ? -Infinity : Infinity;
  }
  const isNumber = text.length <= longestNumber && /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text);
  const value = isNumber ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : impossible("double");
}

const same = <T>(value: T): T => value;

/** CEL's conversions between types, and `size`. */
export function addConversionFunctions(environment: Environment): void {
  const [timestamp, duration] = ["google.protobuf.Timestamp", "google.protobuf.Duration"];
  const size = (value: readonly unknown[] | Uint8Array): bigint => BigInt(value.length);
  const sizes = {
    string: (value: string) => BigInt(characters(value).length),
    bytes: size,
    list: size,
    map: (value: ReadonlyMap<unknown, unknown> | object) =>
      BigInt(value instanceof Map ? value.size : Object.keys(value).length),
  };
  for (const [type, body] of Object.entries(sizes)) {
    addFunctions(environment, { [`size(${type}): int`]: body, [`${type}.size(): int`]: body });
  }
  addFunctions(environment, {
    "string(string): string": same,
    "string(bool): string": String,
    "string(int): string": String,
    "string(uint): string": String,
    "string(double): string": doubleText,
    "string(bytes): string": textOf,
    [`string(${timestamp}): string`]: timestampText,
    [`string(${duration}): string`]: durationText,
    "int(int): int": same,
    "int(uint): int": (value: UnsignedInt) => integer(value.valueOf()),
    "int(double): int": (value: number) => wholePart(value, 2 ** 63),
    "int(string): int": parseInteger,
    [`int(${timestamp}): int`]: (value: Date) => BigInt(Math.floor(value.getTime() / 1000)),
    [`int(${duration}): int`]: nanosecondsOf,
    "uint(uint): uint": same,
    "uint(int): uint": unsigned,
    "uint(double): uint": (value: number) => (value < 0 ? unsigned(-1n) : unsigned(wholePart(value, 2 ** 64))),
    "uint(string): uint": parseUnsigned,
    "double(double): double": same,
    "double(int): double": Number,
    "double(uint): double": Number,
    "double(string): double": parseDouble,
    "bool(bool): bool": same,
    "bool(string): bool": truth,
    "bytes(bytes): bytes": same,
    "bytes(string): bytes": (text: string) => Uint8Array.from(Buffer.from(text)),
    [`timestamp(${timestamp}): ${timestamp}`]: same,
    [`timestamp(string): ${timestamp}`]: readTimestamp,
    [`timestamp(int): ${timestamp}`]: (seconds: bigint) => timestampOf(Number(seconds) * 1000),
    [`duration(${duration}): ${duration}`]: same,
    [`duration(string): ${duration}`]: readDuration,
  });
}
