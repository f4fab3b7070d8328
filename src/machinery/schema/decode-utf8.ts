import { isUtf8 } from "node:buffer";

/** How many bytes that are not UTF-8 are decoded in one step. */
const stepBytes = 64 * 1024;

/** Decodes UTF-8 like Go: each invalid byte becomes one U+FFFD. */
export function decodeUtf8(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  let text = "";
  for (const part of repairedParts(bytes)) text += part;
  return text;
}

/** What `decodeUtf8` makes of bytes that are not UTF-8, in parts of 64 KiB that are decoded one by one. */
export function* repairedParts(bytes: Buffer): Generator<string> {
  // An invalid byte becomes three. A part may end with a character of four bytes.
  const repaired = Buffer.allocUnsafe((Math.min(bytes.length, stepBytes) + 3) * 3);
  for (let position = 0; position < bytes.length;) {
    const partEnd = Math.min(bytes.length, position + stepBytes);
    let length = 0;
    while (position < partEnd) {
      const valid = characterLength(bytes, position);
      if (valid === 0) {
        repaired[length++] = 0xef;
        repaired[length++] = 0xbf;
        repaired[length++] = 0xbd;
        position += 1;
      } else for (const end = position + valid; position < end; position++) repaired[length++] = bytes[position] ?? 0;
    }
    yield repaired.toString("utf8", 0, length);
  }
}

/** The number of bytes of the character at a position, or 0 when there is no valid character (RFC 3629 section 4). */
function characterLength(bytes: Buffer, position: number): number {
  const first = bytes[position] ?? 0;
  if (first < 0x80) return 1;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || position + length > bytes.length) return 0;
  const second = bytes[position + 1] ?? 0;
  // No overlong forms, no surrogates, nothing above U+10FFFF.
  const lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < lowest || second > highest) return 0;
  for (let at = position + 2; at < position + length; at++) if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}
