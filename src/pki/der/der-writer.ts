import { contextTag, tags } from "./der.ts";

/** Encodes one value. `parts` are its content, in order. */
export function encodeElement(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  const lengthOctets = length < 0x80 ? 0 : length < 0x100 ? 1 : length < 0x10000 ? 2 : 3;
  const encoded = Buffer.allocUnsafe(2 + lengthOctets + length);
  encoded[0] = tag;
  if (lengthOctets === 0) encoded[1] = length;
  else {
    encoded[1] = 0x80 | lengthOctets;
    encoded.writeUIntBE(length, 2, lengthOctets);
  }
  let offset = 2 + lengthOctets;
  for (const part of parts) {
    encoded.set(part, offset);
    offset += part.length;
  }
  return encoded;
}

export const encodeSequence = (...parts: readonly Uint8Array[]): Buffer => encodeElement(tags.sequence, ...parts);

/** Encodes a constructed value with a context-specific tag: `[0] EXPLICIT`, or `[0] IMPLICIT` of a sequence or a set. */
export const encodeTagged = (number: number, ...parts: readonly Uint8Array[]): Buffer =>
  encodeElement(contextTag(number, "constructed"), ...parts);

/** Encodes a SET OF in DER order (X.690 11.6). */
export const encodeSetOf = (elements: readonly Buffer[]): Buffer =>
  encodeElement(tags.set, ...elements.toSorted(Buffer.compare));

/** Encodes a non-negative INTEGER from big-endian octets. Leading zeros are allowed. */
export function encodeUnsignedInteger(magnitude: Uint8Array): Buffer {
  let start = 0;
  while (start < magnitude.length - 1 && magnitude[start] === 0) start++;
  const digits = magnitude.subarray(start);
  if (digits.length === 0) return encodeElement(tags.integer, Uint8Array.of(0));
  return (digits[0] ?? 0) >= 0x80
    ? encodeElement(tags.integer, Uint8Array.of(0), digits)
    : encodeElement(tags.integer, digits);
}

/** Encodes a non-negative INTEGER below 2^31. */
export function encodeSmallInteger(value: number): Buffer {
  const octets = Buffer.alloc(4);
  octets.writeUInt32BE(value);
  return encodeUnsignedInteger(octets);
}

/** Encodes an ENUMERATED below 128. */
export const encodeEnumerated = (value: number): Buffer => encodeElement(tags.enumerated, Uint8Array.of(value));

/** The BOOLEAN TRUE. FALSE is the default of every field that Signet writes, and DER leaves out defaults (X.690 11.5). */
export const encodedTrue: Buffer = encodeElement(tags.boolean, Uint8Array.of(0xff));

export const encodedNull: Buffer = encodeElement(tags.null);

export const encodeOctetString = (content: Uint8Array): Buffer => encodeElement(tags.octetString, content);

export const encodeBitString = (bytes: Uint8Array, unusedBits = 0): Buffer =>
  encodeElement(tags.bitString, Uint8Array.of(unusedBits), bytes);

/** The encoded identifiers. They are nearly always constants of this program; the limit is for all others. */
const knownIdentifiers = new Map<string, Buffer>();
const maximumKnownIdentifiers = 256;

/** Encodes an OBJECT IDENTIFIER. The result is shared: do not change it. */
export function encodeObjectIdentifier(dotted: string): Buffer {
  const known = knownIdentifiers.get(dotted);
  if (known !== undefined) return known;
  const encoded = encodeElement(tags.objectIdentifier, identifierOctets(dotted));
  if (knownIdentifiers.size < maximumKnownIdentifiers) knownIdentifiers.set(dotted, encoded);
  return encoded;
}

function identifierOctets(dotted: string): Uint8Array {
  const octets: number[] = [];
  const secondStart = dotted.indexOf(".") + 1;
  // The first two arcs share the first octets (X.690 8.19.4).
  let arc = Number.parseInt(dotted, 10) * 40;
  for (let start = secondStart; start > 0; start = dotted.indexOf(".", start) + 1) {
    arc += Number.parseInt(dotted.slice(start), 10);
    for (let unit = 128 ** 4; unit > 1; unit /= 128) {
      if (arc >= unit) octets.push((Math.floor(arc / unit) & 0x7f) | 0x80);
    }
    octets.push(arc & 0x7f);
    arc = 0;
  }
  return Uint8Array.from(octets);
}

/** Encodes a UTCTime through 2049 and a GeneralizedTime from 2050 on (RFC 5280 4.1.2.5). Milliseconds are cut off. */
export function encodeTime(milliseconds: number): Buffer {
  const digits = digitsOf(milliseconds);
  const year = Number(digits.slice(0, 4));
  return year >= 1950 && year < 2050
    ? encodeElement(tags.utcTime, Buffer.from(digits.slice(2), "latin1"))
    : encodeGeneralizedTime(milliseconds);
}

/** Encodes a GeneralizedTime for any year. Milliseconds are cut off. */
export const encodeGeneralizedTime = (milliseconds: number): Buffer =>
  encodeElement(tags.generalizedTime, Buffer.from(digitsOf(milliseconds), "latin1"));

function digitsOf(milliseconds: number): string {
  const text = new Date(milliseconds).toISOString(); // 2026-11-22T10:20:30.000Z
  return `${text.slice(0, 4)}${text.slice(5, 7)}${text.slice(8, 10)}${text.slice(11, 13)}${text.slice(14, 16)}${text.slice(17, 19)}Z`;
}
