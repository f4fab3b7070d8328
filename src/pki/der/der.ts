import { PkiError } from "../pki-error.ts";

/**
 * Identifier octets of the types that X.509 uses (X.690 8.1.2): universal class; `sequence` and `set` are constructed.
 */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  enumerated: 0x0a,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  numericString: 0x12,
  printableString: 0x13,
  t61String: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  universalString: 0x1c,
  bmpString: 0x1e,
} as const;

/** A context-specific tag, such as `[0]`. */
export const contextTag = (number: number, form: "primitive" | "constructed"): number =>
  (form === "constructed" ? 0xa0 : 0x80) | number;

/** One encoded value. All views share the memory of the input. */
export interface DerElement {
  /** The identifier octet. */
  readonly tag: number;
  readonly content: Buffer;
  /** Includes identifier and length. */
  readonly bytes: Buffer;
}

interface BitString {
  readonly bytes: Buffer;
  readonly unusedBits: number;
}

interface Header {
  readonly tag: number;
  readonly contentStart: number;
  readonly contentLength: number;
}

/** The most entries of a list: more are an attack. */
const maximumEntries = 1000;

/** The longest value. A longer one is refused before its content is read. */
const maximumLength = 1 << 24;

const syntaxError = (message: string): PkiError => new PkiError(`asn1: syntax error: ${message}`);
const structureError = (message: string): PkiError => new PkiError(`asn1: structure error: ${message}`);

/**
 * Reads DER values one after the other and refuses everything else: indefinite, over-long and non-minimal lengths, and
 * high tag numbers. It never recurses: the caller limits the depth.
 */
export class DerReader {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;
  #offset: number;

  /** Reads the octets from `start` up to, but not including, `end`. By default all of them. */
  constructor(
    bytes: Buffer,
    { start = 0, end = bytes.length }: { readonly start?: number; readonly end?: number } = {},
  ) {
    this.#bytes = bytes;
    this.#start = start;
    this.#offset = start;
    this.#end = end;
  }

  get isAtEnd(): boolean {
    return this.#offset >= this.#end;
  }

  /** The identifier octet of the next value, or undefined at the end. */
  get nextTag(): number | undefined {
    return this.isAtEnd ? undefined : this.#bytes[this.#offset];
  }

  /** Reads the next value of any type. */
  readElement(): DerElement {
    return this.#element(this.#header());
  }

  #element(header: Header): DerElement {
    const start = this.#offset;
    const content = this.#content(header);
    return { tag: header.tag, content, bytes: this.#bytes.subarray(start, this.#offset) };
  }

  #content(header: Header): Buffer {
    const end = this.#skip(header);
    return this.#bytes.subarray(header.contentStart, end);
  }

  /** Moves to the end of a value, and returns its offset. */
  #skip({ contentStart, contentLength }: Header): number {
    const end = contentStart + contentLength;
    if (end > this.#end) throw syntaxError("data truncated");
    this.#offset = end;
    return end;
  }

  /** Reads the content of the next value, which must have this tag. `typeName` is the structure's name in errors. */
  read(tag: number, typeName: string): Buffer {
    return this.#content(this.#expected(tag, typeName));
  }

  readExpected(tag: number, typeName: string): DerElement {
    return this.#element(this.#expected(tag, typeName));
  }

  /** Reads the whole next value, with identifier and length. It must have this tag. */
  readWhole(tag: number, typeName: string): Buffer {
    const start = this.#offset;
    const end = this.#skip(this.#expected(tag, typeName));
    return this.#bytes.subarray(start, end);
  }

  /** Returns a reader of the content of the next value, which must have this tag. */
  readNested(tag: number, typeName: string): DerReader {
    const header = this.#expected(tag, typeName);
    return new DerReader(this.#bytes, { start: header.contentStart, end: this.#skip(header) });
  }

  /** Reads the content of the next value when it has this tag. Otherwise reads nothing. */
  readOptional(tag: number): Buffer | undefined {
    return this.nextTag === tag ? this.#content(this.#header()) : undefined;
  }

  readSequence(typeName: string): DerReader {
    return this.readNested(tags.sequence, typeName);
  }

  readObjectIdentifier(): string {
    const header = this.#expected(tags.objectIdentifier, "ObjectIdentifier");
    return decodeObjectIdentifier(this.#bytes, { start: header.contentStart, end: this.#skip(header) });
  }

  /** Reads the content of an INTEGER: big-endian two's complement in the fewest octets. */
  readInteger(): Buffer {
    const content = this.read(tags.integer, "Int");
    checkInteger(content);
    return content;
  }

  /**
   * Reads an INTEGER of at most eight octets, as Go does; beyond 2^53, only nearly its value. `tag` is for an integer with a tag of its own
   * (`[0] IMPLICIT`).
   */
  readSmallInteger(tag: number = tags.integer): number {
    const content = this.read(tag, "int");
    checkInteger(content);
    if (content.length > 8) throw structureError("integer too large");
    if (content.length <= 6) return content.readIntBE(0, content.length);
    return Number(BigInt.asIntN(8 * content.length, BigInt(`0x${content.toString("hex")}`)));
  }

  readBoolean(): boolean {
    const content = this.read(tags.boolean, "bool");
    if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) throw syntaxError("invalid boolean");
    return content[0] === 0xff;
  }

  readBitString(): BitString {
    const content = this.read(tags.bitString, "BitString");
    const unusedBits = content[0];
    if (unusedBits === undefined) throw syntaxError("zero length BIT STRING");
    const last = content[content.length - 1] ?? 0;
    if (unusedBits > 7 || (content.length === 1 && unusedBits > 0) || (last & ((1 << unusedBits) - 1)) !== 0) {
      throw syntaxError("invalid padding bits in BIT STRING");
    }
    return { bytes: content.subarray(1), unusedBits };
  }

  /** Calls `read` until the end is reached. Throws PkiError for more than a thousand values: no list in a certificate is that long. */
  each(read: () => void): void {
    for (let count = 0; !this.isAtEnd; count++) {
      if (count === maximumEntries) throw structureError("too many entries");
      read();
    }
  }

  /** Throws PkiError when data is left after the last value that was read. */
  expectEnd(): void {
    if (!this.isAtEnd) throw syntaxError("trailing data");
  }

  #expected(tag: number, typeName: string): Header {
    const header = this.#header();
    if (header.tag !== tag) {
      const found = { ...header, contentStart: header.contentStart - this.#start };
      throw tagMismatch(found, { expectedTag: tag, typeName });
    }
    return header;
  }

  /** Returns the identifier and length of the next value, without moving on. */
  #header(): Header {
    const bytes = this.#bytes;
    const tag = this.nextTag;
    if (tag === undefined) throw syntaxError("sequence truncated");
    if ((tag & 0x1f) === 0x1f) throw syntaxError("high tag number (not used by X.509)");
    let offset = this.#offset + 1;
    let length = offset < this.#end ? bytes[offset++] : undefined;
    if (length === undefined) throw syntaxError("truncated tag or length");
    if (length >= 0x80) {
      let lengthOctets = length & 0x7f;
      if (lengthOctets === 0) throw syntaxError("indefinite length found (not DER)");
      length = 0;
      while (lengthOctets-- > 0) {
        const octet = offset < this.#end ? bytes[offset++] : undefined;
        if (octet === undefined) throw syntaxError("truncated tag or length");
        length = length * 256 + octet;
        if (length === 0) throw structureError("superfluous leading zeros in length");
        if (length > maximumLength) throw structureError("length too large");
      }
      if (length < 0x80) throw structureError("non-minimal length");
    }
    return { tag, contentStart: offset, contentLength: length };
  }
}

/** Reads a value that must be all of `bytes`. Throws PkiError, as `read` does. */
export function soleValue<T>(bytes: Buffer, read: (reader: DerReader) => T): T {
  const reader = new DerReader(bytes);
  const value = read(reader);
  reader.expectEnd();
  return value;
}

/** Returns a reader of the content of a SEQUENCE, which must be all of `bytes`. `typeName` is its name in errors. Throws PkiError. */
export const soleSequence = (bytes: Buffer, typeName: string): DerReader =>
  soleValue(bytes, (reader) => reader.readSequence(typeName));

/**
 * The error of a wrong tag, in Go's words and with the tag as Go prints it: upstream's clients see this message when a request has another
 * structure.
 */
function tagMismatch(
  { tag, contentStart, contentLength }: Header,
  { expectedTag, typeName }: { readonly expectedTag: number; readonly typeName: string },
): PkiError {
  const found = `{class:${tag >> 6} tag:${tag & 0x1f} length:${contentLength} isCompound:${(tag & 0x20) !== 0}}`;
  const parameters =
    "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}";
  return structureError(
    `tags don't match (${expectedTag & 0x1f} vs ${found}) ${parameters} ${typeName} @${contentStart}`,
  );
}

function checkInteger(content: Buffer): void {
  const first = content[0];
  if (first === undefined) throw structureError("empty integer");
  const second = content[1];
  if (second === undefined) return;
  if ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80)) {
    throw structureError("integer not minimally-encoded");
  }
}

/** Decodes the content of an OBJECT IDENTIFIER, from `start` up to `end`, to its dotted form. Arcs must fit 31 bits. */
function decodeObjectIdentifier(
  bytes: Buffer,
  { start, end }: { readonly start: number; readonly end: number },
): string {
  if (start === end) throw syntaxError("zero length OBJECT IDENTIFIER");
  if (end - start > 64) throw structureError("OBJECT IDENTIFIER too long");
  let dotted = "";
  let value = 0;
  let isInside = false;
  for (let at = start; at < end; at++) {
    const octet = bytes[at] ?? 0;
    if (!isInside && octet === 0x80) throw syntaxError("integer is not minimally encoded");
    value = value * 128 + (octet & 0x7f);
    if (value > 0x7fffffff) throw structureError("base 128 integer too large");
    isInside = octet >= 0x80;
    if (isInside) continue;
    // The first two arcs share the first octets (X.690 8.19.4).
    dotted +=
      dotted === "" ? (value < 80 ? `${Math.floor(value / 40)}.${value % 40}` : `2.${value - 80}`) : `.${value}`;
    value = 0;
  }
  if (isInside) throw syntaxError("truncated base 128 integer");
  return dotted;
}

const utcTime = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?(Z|[+-]\d{4})$/;
const generalizedTime = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(Z|[+-]\d{4})$/;

/**
 * Reads a UTCTime or GeneralizedTime as milliseconds since the epoch. Two-digit years mean 1950 to 2049. Throws
 * PkiError.
 */
export function readTime(reader: DerReader): number {
  const isUtcTime = reader.nextTag === tags.utcTime;
  if (!isUtcTime && reader.nextTag !== tags.generalizedTime) throw new PkiError("x509: unsupported time format");
  const text = reader.readElement().content.toString("latin1");
  const malformed = (): PkiError => new PkiError(`x509: malformed ${isUtcTime ? "UTCTime" : "GeneralizedTime"}`);
  const match = (isUtcTime ? utcTime : generalizedTime).exec(text);
  if (match === null) throw malformed();
  const [, digits = "", month = "", day = "", hour = "", minute = "", second = "00", zone = "Z"] = match;
  const year = isUtcTime ? `${digits < "50" ? "20" : "19"}${digits}` : digits;
  const written = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const date = new Date(written);
  // `Date` also accepts the 30th of February, as a day of March.
  if (Number.isNaN(date.getTime()) || date.toISOString() !== written) throw malformed();
  return date.getTime() - offsetMilliseconds(zone, malformed);
}

function offsetMilliseconds(zone: string, malformed: () => PkiError): number {
  if (zone === "Z") return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3));
  // DER writes UTC as Z, never as an offset.
  if (minutes === 0 || Number(zone.slice(1, 3)) > 23 || Number(zone.slice(3)) > 59) throw malformed();
  return (zone.startsWith("-") ? -minutes : minutes) * 60_000;
}
