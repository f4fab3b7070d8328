import { noBytes } from "../api/bytes/no-bytes.ts";

/**
 * The messages of p11-kit for the functions of PKCS #11 (p11-kit's `rpc-message.c`, protocol version 0, which every version of p11-kit
 * speaks). A message is the number of the function, the types of its values, and the values; numbers are big-endian. Each function below
 * has its name, its number and its types from p11-kit's table.
 */
export interface ModuleFunction {
  readonly name: string;
  readonly number: number;
  readonly request: string;
  readonly answer: string;
}

const define = (name: string, messages: Omit<ModuleFunction, "name">): ModuleFunction => ({ name, ...messages });

export const functions = {
  initialize: define("C_Initialize", { number: 1, request: "ayyay", answer: "" }),
  slotList: define("C_GetSlotList", { number: 4, request: "yfu", answer: "au" }),
  tokenInfo: define("C_GetTokenInfo", { number: 6, request: "u", answer: "ssssuuuuuuuuuuuvvs" }),
  openSession: define("C_OpenSession", { number: 10, request: "uu", answer: "u" }),
  login: define("C_Login", { number: 18, request: "uuay", answer: "" }),
  attributes: define("C_GetAttributeValue", { number: 24, request: "uufA", answer: "aAu" }),
  findInit: define("C_FindObjectsInit", { number: 26, request: "uaA", answer: "" }),
  find: define("C_FindObjects", { number: 27, request: "ufu", answer: "au" }),
  findFinal: define("C_FindObjectsFinal", { number: 28, request: "u", answer: "" }),
  signInit: define("C_SignInit", { number: 42, request: "uMu", answer: "" }),
  sign: define("C_Sign", { number: 43, request: "uayfy", answer: "ay" }),
} as const satisfies Readonly<Record<string, ModuleFunction>>;

/** In place of the function's number, it says that the function failed. The value is the reason. */
const errorNumber = 0;
const errorAnswer = "u";

/** The p11-kit process broke the protocol. */
export class ModuleProtocolError extends Error {}

/** The token did not answer in time. */
export class ModuleTimeout extends Error {}

/** A function of the module failed, with a code `CKR_…` of PKCS #11. */
export class ModuleError extends Error {
  override readonly name = "ModuleError";
  readonly code: number;

  constructor(name: string, code: number) {
    super(`${name} failed with ${nameOfCode.get(code) ?? `0x${code.toString(16)}`}`);
    this.code = code;
  }
}

export const codes = {
  pinIncorrect: 0xa0,
  pinLocked: 0xa4,
  alreadyLoggedIn: 0x100,
} as const;

const nameOfCode = new Map<number, string>([
  [0x2, "CKR_HOST_MEMORY"],
  [0x5, "CKR_GENERAL_ERROR"],
  [0x6, "CKR_FUNCTION_FAILED"],
  [0x30, "CKR_DEVICE_ERROR"],
  [0x32, "CKR_DEVICE_REMOVED"],
  [0x54, "CKR_FUNCTION_NOT_SUPPORTED"],
  [0x60, "CKR_KEY_HANDLE_INVALID"],
  [0x68, "CKR_KEY_FUNCTION_NOT_PERMITTED"],
  [0x70, "CKR_MECHANISM_INVALID"],
  [codes.pinIncorrect, "CKR_PIN_INCORRECT"],
  [0xa3, "CKR_PIN_EXPIRED"],
  [codes.pinLocked, "CKR_PIN_LOCKED"],
  [0xb3, "CKR_SESSION_HANDLE_INVALID"],
  [0xe0, "CKR_TOKEN_NOT_PRESENT"],
  [0xe1, "CKR_TOKEN_NOT_RECOGNIZED"],
  [0x101, "CKR_USER_NOT_LOGGED_IN"],
]);

/** The encoding of a mechanism without parameters: "bare" since p11-kit 0.25.6, "with array" before. */
export type MechanismForm = "bare" | "with array";

/** An attribute of an object: a number (class, type) or octets. */
export interface Attribute {
  readonly type: number;
  readonly value: number | Buffer;
}

/** Writes the values of a request, in the order of the function's types. */
export class RequestWriter {
  /** The function that the request calls. */
  readonly called: ModuleFunction;
  readonly #parts: Buffer[] = [];

  constructor(called: ModuleFunction) {
    this.called = called;
    this.#uint32(called.number);
    this.#octets(Buffer.from(called.request));
  }

  /** `y` */
  byte(value: number): this {
    this.#parts.push(Buffer.of(value));
    return this;
  }

  /** `u` */
  number(value: number): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(value));
    this.#parts.push(bytes);
    return this;
  }

  /** `ay` */
  bytes(value: Uint8Array): this {
    this.byte(1);
    this.#octets(value);
    return this;
  }

  /** `fy`, `fu`: the maximum number of bytes or numbers in the answer. */
  room(count: number): this {
    this.#uint32(count);
    return this;
  }

  /** `fA`: the types of the requested attributes, each with its maximum number of bytes. */
  attributeRoom(types: readonly number[], bytes: number): this {
    this.#uint32(types.length);
    for (const type of types) {
      this.#uint32(type);
      this.#uint32(bytes);
    }
    return this;
  }

  /** `aA` */
  attributes(given: readonly Attribute[]): this {
    this.#uint32(given.length);
    for (const { type, value } of given) {
      this.#uint32(type);
      this.byte(1);
      if (typeof value === "number") {
        this.#uint32(8);
        this.number(value);
      } else {
        this.#uint32(value.length);
        this.#octets(value);
      }
    }
    return this;
  }

  /** `M`: a mechanism without parameters. Older versions of p11-kit expect an empty array of parameters. */
  mechanism(type: number, form: MechanismForm): this {
    this.#uint32(type);
    if (form === "with array") this.#uint32(0xffffffff);
    return this;
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #uint32(value: number): void {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    this.#parts.push(bytes);
  }

  #octets(value: Uint8Array): void {
    this.#uint32(value.length);
    this.#parts.push(Buffer.from(value));
  }
}

/** Reads the values of an answer. Throws ModuleProtocolError for an answer that is too short, and ModuleError for a failure. */
export class AnswerReader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer, { name, number, answer }: ModuleFunction) {
    this.#bytes = bytes;
    const answered = this.#uint32();
    const types = this.#octets().toString("latin1");
    if (answered === errorNumber && types === errorAnswer) throw new ModuleError(name, this.number());
    if (answered !== number || types !== answer) throw new ModuleProtocolError(`an answer to ${name} was expected`);
  }

  /** `u`. Throws ModuleProtocolError for a number that is not a safe integer. */
  number(): number {
    const value = Number(this.#take(8).readBigUInt64BE());
    if (Number.isSafeInteger(value)) return value;
    throw new ModuleProtocolError("an answer has a number that is too large");
  }

  /** `s`: the text without the spaces at its end. */
  paddedText(): string {
    return this.#octets().toString("utf8").replace(/ +$/, "");
  }

  /** `au` */
  numbers(): number[] {
    const isThere = this.#take(1)[0] === 1;
    const count = this.#uint32();
    if (!isThere) return [];
    if (count > this.#bytes.length / 8) throw new ModuleProtocolError("a list is longer than the answer");
    return Array.from({ length: count }, () => this.number());
  }

  /** `ay` */
  byteArray(): Buffer {
    const isThere = this.#take(1)[0] === 1;
    if (!isThere) {
      this.#uint32();
      return noBytes;
    }
    return this.#octets();
  }

  /** `aA`: the attributes with a type in `numbers` are numbers, the others are octets. Attributes that the object lacks are omitted. */
  attributes(numbers: ReadonlySet<number>): ReadonlyMap<number, Buffer | number> {
    const found = new Map<number, Buffer | number>();
    const count = this.#uint32();
    for (let index = 0; index < count; index += 1) {
      const type = this.#uint32();
      if (this.#take(1)[0] !== 1) continue;
      this.#uint32();
      found.set(type, numbers.has(type) ? this.number() : this.#octets());
    }
    return found;
  }

  #uint32(): number {
    return this.#take(4).readUInt32BE();
  }

  #octets(): Buffer {
    const length = this.#uint32();
    return length === 0xffffffff ? noBytes : this.#take(length);
  }

  #take(length: number): Buffer {
    const end = this.#offset + length;
    if (end > this.#bytes.length) throw new ModuleProtocolError("an answer ends too soon");
    const taken = this.#bytes.subarray(this.#offset, end);
    this.#offset = end;
    return taken;
  }
}
