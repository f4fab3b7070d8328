import { TypeMismatch } from "./type-mismatch.ts";

/**
 * Returns standard padded base64 in canonical form: without the line breaks and stray bits that Go's decoder accepts.
 * Throws a TypeMismatch with Go's message for text that Go refuses.
 */
export function normalizeBase64(text: string): string {
  const joined = text.includes("\n") || text.includes("\r") ? text.replace(/[\r\n]/g, "") : text;
  if (joined.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(joined)) {
    throw new TypeMismatch(`illegal base64 data at input byte ${faultPosition(text)}`);
  }
  return joined.endsWith("=") ? Buffer.from(joined, "base64").toString("base64") : joined;
}

/** The position where Go's decoder stops. It reads groups of four characters. */
function faultPosition(text: string): number {
  let position = 0;
  for (;;) {
    for (let digits = 0; digits < 4; digits += 1) {
      position = skipLineBreaks(text, position);
      // The input ends inside a group: Go subtracts the number of digits in the group.
      if (position >= text.length) return bytesBefore(text, position - digits);
      if (text[position] === "=") return paddingFaultPosition(text, { position, digits });
      if (!/[A-Za-z0-9+/]/.test(text[position] ?? "")) return bytesBefore(text, position);
      position += 1;
    }
  }
}

function paddingFaultPosition(text: string, { position, digits }: { position: number; digits: number }): number {
  if (digits < 2) return position;
  const next = skipLineBreaks(text, position + 1);
  if (digits === 3) return next;
  if (next >= text.length) return text.length;
  return text[next] === "=" ? skipLineBreaks(text, next + 1) : next - 1;
}

function skipLineBreaks(text: string, from: number): number {
  let position = from;
  while (text[position] === "\n" || text[position] === "\r") position += 1;
  return position;
}

const bytesBefore = (text: string, position: number): number => Buffer.byteLength(text.slice(0, position));
