import { tags } from "./der.ts";
import { encodeElement } from "./der-writer.ts";
import { PkiError } from "../pki-error.ts";

/** The deepest nesting: no certificate nests this deep. */
const maximumDepth = 32;
/** The most values: the certificates of one block have fewer. */
const maximumValues = 10_000;

const notBer = (): PkiError => new PkiError("asn1: syntax error: not BER");

/**
 * Rewrites concatenated BER values (X.690 8) as DER: their lengths, constructed strings and booleans. Sets are not sorted, because the
 * result is only parsed and never signed. Throws PkiError for input that is not BER. The depth and the number of values are bounded.
 */
export function berToDer(bytes: Buffer): Buffer {
  const seen = { count: 0 };
  const { encoded } = rewriteAll({ bytes, offset: 0, end: bytes.length, depth: 0, seen, isAtEnd: isAt(bytes.length) });
  return Buffer.concat(encoded);
}

interface Place {
  readonly bytes: Buffer;
  readonly offset: number;
  readonly end: number;
  readonly depth: number;
  /** The number of values so far, at all depths. */
  readonly seen: { count: number };
}

const isAt =
  (end: number) =>
  (offset: number): boolean =>
    offset >= end;

/** Rewrites the values from an offset on. `next` is the offset of their end. */
function rewriteAll({ isAtEnd, ...place }: Place & { readonly isAtEnd: (offset: number) => boolean }): {
  readonly encoded: readonly Buffer[];
  readonly next: number;
} {
  const encoded: Buffer[] = [];
  let next = place.offset;
  while (!isAtEnd(next)) {
    const value = rewrite({ ...place, offset: next });
    encoded.push(value.encoded);
    next = value.next;
  }
  return { encoded, next };
}

function rewrite(place: Place): { readonly encoded: Buffer; readonly next: number } {
  const { bytes, end, depth, seen } = place;
  if (++seen.count > maximumValues || depth > maximumDepth) throw notBer();
  const { tag, contentStart, length } = readHeader(place);
  const isConstructed = (tag & 0x20) !== 0;
  const inside = { bytes, offset: contentStart, depth: depth + 1, seen };

  if (length === "until two zeros") {
    if (!isConstructed) throw notBer();
    const isAtEnd = (at: number): boolean => bytes[at] === 0 && bytes[at + 1] === 0 && at + 2 <= end;
    const { encoded, next } = rewriteAll({ ...inside, end, isAtEnd });
    return { encoded: join(tag, encoded), next: next + 2 };
  }
  const next = contentStart + length;
  if (next > end) throw notBer();
  if (!isConstructed) return { encoded: primitive(tag, bytes.subarray(contentStart, next)), next };
  return { encoded: join(tag, rewriteAll({ ...inside, end: next, isAtEnd: isAt(next) }).encoded), next };
}

/** Reads tag and length (X.690 8.1.2, 8.1.3). */
function readHeader({ bytes, offset, end }: Pick<Place, "bytes" | "offset" | "end">): {
  readonly tag: number;
  readonly contentStart: number;
  readonly length: number | "until two zeros";
} {
  const tag = bytes[offset];
  const firstLength = bytes[offset + 1];
  if (tag === undefined || firstLength === undefined || offset + 2 > end) throw notBer();
  if ((tag & 0x1f) === 0x1f || tag === 0) throw notBer();
  if (firstLength === 0x80) return { tag, contentStart: offset + 2, length: "until two zeros" };
  const lengthOctets = firstLength > 0x80 ? firstLength & 0x7f : 0;
  const contentStart = offset + 2 + lengthOctets;
  if (contentStart > end || lengthOctets > 6) throw notBer();
  return { tag, contentStart, length: lengthOctets === 0 ? firstLength : bytes.readUIntBE(offset + 2, lengthOctets) };
}

/** Encodes a primitive value. In BER, TRUE is any octet except zero. In DER it is 0xff. */
const primitive = (tag: number, content: Buffer): Buffer =>
  encodeElement(tag, tag === tags.boolean && content.length === 1 && content[0] !== 0 ? Buffer.of(0xff) : content);

const stringTypes = new Set<number>([
  tags.octetString,
  tags.utf8String,
  tags.numericString,
  tags.printableString,
  tags.t61String,
  tags.ia5String,
  tags.bmpString,
]);

/** Joins the segments of a constructed string into one primitive string. Other values keep their children. */
function join(tag: number, children: readonly Buffer[]): Buffer {
  const primitiveTag = tag & ~0x20;
  if (!stringTypes.has(primitiveTag)) return encodeElement(tag, Buffer.concat(children));
  return encodeElement(primitiveTag, Buffer.concat(children.map((child) => segmentContent(child, primitiveTag))));
}

function segmentContent(child: Buffer, tag: number): Buffer {
  if (child[0] !== tag) throw notBer();
  const firstLength = child[1] ?? 0;
  return child.subarray(firstLength < 0x80 ? 2 : 2 + (firstLength & 0x7f));
}
