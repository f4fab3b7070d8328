import { isUtf8 } from "node:buffer";

/** Decodes UTF-8 like Go: each invalid byte becomes one U+FFFD. */
export function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const parts: string[] = [];
  let start = 0;
  for (let position = 0; position < bytes.length;) {
    const length = characterLength(bytes, position);
    if (length > 0) position += length;
    else {
      parts.push(bytes.toString("utf8", start, position));
      position += 1;
      start = position;
    }
  }
  parts.push(bytes.toString("utf8", start));
  return parts.join("\ufffd");
}

/** The number of bytes of the character at a position, or 0 when there is no valid character (RFC 3629 section 4). */
function characterLength(bytes: Buffer, position: number): number {
  const first = bytes[position] ?? 0;
  if (first < 0x80) return 1;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  return isUtf8(bytes.subarray(position, position + length)) && position + length <= bytes.length ? length : 0;
}
