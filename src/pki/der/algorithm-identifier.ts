import { DerReader, tags } from "./der.ts";
import type { DerElement } from "./der.ts";
import { PkiError } from "../pki-error.ts";

/** An AlgorithmIdentifier (RFC 5280 4.1.1.2). */
export interface AlgorithmIdentifier {
  readonly algorithm: string;
  /** The whole encoding of the parameters; empty when there are none. */
  readonly parameters: Buffer;
}

const none = Buffer.alloc(0);

/** Reads the content of an AlgorithmIdentifier sequence. Throws PkiError. */
export function parseAlgorithmIdentifier(content: Buffer): AlgorithmIdentifier {
  const reader = new DerReader(content);
  const algorithm = reader.readObjectIdentifier();
  if (reader.isAtEnd) return { algorithm, parameters: none };
  const parameters = reader.readElement();
  reader.expectEnd();
  checkAnyValue(parameters);
  return { algorithm, parameters: parameters.bytes };
}

/** Whether parameters are the ASN.1 NULL. */
export const isNull = (parameters: Buffer): boolean => parameters[0] === tags.null;

const malformed = (): PkiError => new PkiError("asn1: structure error: malformed value");

const constructedTypes = new Set([0x10, 0x11, 0x08, 0x0b]);

/**
 * Throws PkiError for a value whose outermost encoding no decoder would accept. For places where any type is allowed (attribute values,
 * algorithm parameters). Does not check the content of sequences and sets.
 */
export function checkAnyValue({ tag, content, bytes }: DerElement): void {
  if (tag >= 0x40) return;
  const isConstructed = (tag & 0x20) !== 0;
  if (tag === 0 || isConstructed !== constructedTypes.has(tag & 0x1f)) throw malformed();
  const reader = new DerReader(bytes);
  if (tag === tags.objectIdentifier) reader.readObjectIdentifier();
  else if (tag === tags.integer) reader.readInteger();
  else if (tag === tags.bitString) reader.readBitString();
  else if (tag === tags.boolean) reader.readBoolean();
  else if (tag === tags.enumerated)
    new DerReader(Buffer.concat([Buffer.of(tags.integer), bytes.subarray(1)])).readInteger();
  else if (tag === tags.null ? content.length > 0 : content.length % (unitOctets.get(tag) ?? 1) !== 0)
    throw malformed();
}

const unitOctets = new Map<number, number>([
  [tags.bmpString, 2],
  [tags.universalString, 4],
]);
