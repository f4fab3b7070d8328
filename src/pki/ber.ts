import { tags } from "./der.ts";
import { encodeElement } from "./der-writer.ts";
import { PkiError } from "./pki-error.ts";

/** No certificate nests this deep. */
const maximumDepth = 32;
/** Nor do those of one block hold as many values. */
const maximumValues = 10_000;

const notBer = (): PkiError => new PkiError("asn1: syntax error: not BER");

/**
 * Rewrites concatenated BER values (X.690 8) as DER, as far as lengths, constructed strings and booleans are concerned.
 * Sets are not sorted: the result is only parsed, never signed. Throws PkiError for input that is not BER. Depth and number are
 * bounded.
 */
export function berToDer(bytes: Buffer): Buffer {
  const values: Buffer[] = [];
  const seen = { count: 0 };
  let offset = 0;
  while (offset < bytes.length) {
    const { encoded, next } = rewrite({ bytes, offset, end: bytes.length, depth: 0, seen });
    values.push(encoded);
    offset = next;
  }
  return Buffer.concat(values);
}

interface Place {
  readonly bytes: Buffer;
  readonly offset: number;
  readonly end: number;
  readonly depth: number;
  /** The values so far, at all depths. */
  readonly seen: { count: number };
}

function rewrite({ bytes, offset, end, depth, seen }: Place): { encoded: Buffer; next: number } {
  const tag = bytes[offset];
  const firstLength = bytes[offset + 1];
  if (
    ++seen.count > maximumValues ||
    depth > maximumDepth ||
    tag === undefined ||
    firstLength === undefined ||
    offset + 2 > end
  )
    throw notBer();
  if ((tag & 0x1f) === 0x1f || tag === 0) throw notBer();
  const isConstructed = (tag & 0x20) !== 0;

  if (firstLength === 0x80) {
    if (!isConstructed) throw notBer();
    const children: Buffer[] = [];
    let position = offset + 2;
    while (!(bytes[position] === 0 && bytes[position + 1] === 0 && position + 2 <= end)) {
      const child = rewrite({ bytes, offset: position, end, depth: depth + 1, seen });
      children.push(child.encoded);
      position = child.next;
    }
    return { encoded: join(tag, children), next: position + 2 };
  }

  const lengthOctets = firstLength > 0x80 ? firstLength & 0x7f : 0;
  const start = offset + 2 + lengthOctets;
  if (start > end || lengthOctets > 6) throw notBer();
  const length = lengthOctets === 0 ? firstLength : bytes.readUIntBE(offset + 2, lengthOctets);
  const next = start + length;
  if (next > end) throw notBer();
  if (!isConstructed) return { encoded: primitive(tag, bytes.subarray(start, next)), next };
  const children: Buffer[] = [];
  for (let position = start; position < next;) {
    const child = rewrite({ bytes, offset: position, end: next, depth: depth + 1, seen });
    children.push(child.encoded);
    position = child.next;
  }
  return { encoded: join(tag, children), next };
}

/** In BER, TRUE is any octet except zero. In DER it is 0xff. */
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
