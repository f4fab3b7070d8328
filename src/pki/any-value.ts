import { type DerElement, DerReader, tags } from "./der.ts";
import { PkiError } from "./pki-error.ts";

const malformed = (): PkiError => new PkiError("asn1: structure error: malformed value");

const constructedTypes = new Set([0x10, 0x11, 0x08, 0x0b]);

/**
 * Refuses a value whose outermost encoding no decoder would accept. For places where any type is allowed (attribute
 * values, algorithm parameters). Does not look inside sequences and sets. Throws PkiError.
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
