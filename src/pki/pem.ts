/** One PEM block (RFC 7468). */
export interface PemBlock {
  /** The label, such as `CERTIFICATE`. */
  readonly type: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly bytes: Buffer;
}

const beginMark = "-----BEGIN ";
const endMark = "\n-----END ";
const dashes = "-----";

/** The most headers of a block. Encrypted keys have two, so more are an attack. */
const maximumHeaders = 100;

/** All blocks of a text, decoded by `eachPemBlock`. */
export const decodePemBlocks = (input: string | Uint8Array): PemBlock[] => [...eachPemBlock(input)];

/**
 * Decodes the blocks of a text in order, like Go's `pem.Decode`. Text around blocks is skipped, and so is a damaged block. A marker must
 * start its line: an indented block, or one directly after a byte order mark, counts as text. Everything after an unfinished block is
 * ignored. A block with more than a hundred headers is returned without bytes, and is the last. Takes linear time.
 */
export function* eachPemBlock(input: string | Uint8Array): Generator<PemBlock, undefined> {
  let text = asLatin1(input);
  for (;;) {
    const found = decodePem(text);
    if (found === undefined) return;
    yield found.block;
    text = found.rest;
  }
}

/** The first block of a text, or undefined. */
export const decodeFirstPemBlock = (input: string | Uint8Array): PemBlock | undefined =>
  decodePem(asLatin1(input))?.block;

/** Maps each octet to one character (0 to 255), so that string indices are octet offsets. */
function asLatin1(input: string | Uint8Array): string {
  const octets =
    typeof input === "string" ? Buffer.from(input, "utf8") : Buffer.from(input.buffer, input.byteOffset, input.length);
  return octets.toString("latin1");
}

function decodePem(text: string): { block: PemBlock; rest: string } | undefined {
  let rest = text;
  let afterEndMark = 0;
  for (;;) {
    rest = rest.slice(afterEndMark);
    // Find the first END line, then the last BEGIN line before it. A BEGIN line without its own END line is text.
    const endIndex = rest.indexOf(endMark);
    if (endIndex < 0) return undefined;
    afterEndMark = endIndex + endMark.length;
    const beginIndex = rest.slice(0, endIndex).lastIndexOf(beginMark);
    if (beginIndex < 0 || (beginIndex > 0 && rest[beginIndex - 1] !== "\n")) continue;

    const typeLine = lineAt(rest, beginIndex + beginMark.length);
    if (!typeLine.text.endsWith(dashes)) continue;
    const type = typeLine.text.slice(0, -dashes.length);

    const headerLines = readHeaders(rest, typeLine.next);
    if (headerLines === undefined) return undefined;
    const { headers, end: bodyStart, areTooMany } = headerLines;
    if (areTooMany) {
      if (endIndex < bodyStart) return undefined;
      // Returned without bytes, so that readers report it instead of using it, and as the last block, so that no later block is skipped
      // silently.
      return { block: { type, headers, bytes: Buffer.alloc(0) }, rest: "" };
    }
    // After headers, a line break must precede the END line. Stop here when the headers continue after the END line: otherwise lines full
    // of colons would be read again for every block.
    if (headers.size > 0 && endIndex < bodyStart) {
      if (afterEndMark < bodyStart) return undefined;
      continue;
    }

    const endOfLabel = afterEndMark + type.length + dashes.length;
    if (rest.slice(afterEndMark, endOfLabel) !== type + dashes) continue;
    const endLine = lineAt(rest, endOfLabel);
    if (endLine.text !== "") continue;

    const bytes = endIndex > bodyStart ? decodeBase64(rest.slice(bodyStart, endIndex)) : Buffer.alloc(0);
    if (bytes === undefined) continue;
    return { block: { type, headers, bytes }, rest: rest.slice(endLine.next) };
  }
}

interface HeaderLines {
  readonly headers: Map<string, string>;
  /** The offset of the line after the headers. */
  readonly end: number;
  /** Whether there are more headers than were read. */
  readonly areTooMany: boolean;
}

/** Reads header lines, which contain a colon. Undefined when the text ends with such a line. */
function readHeaders(text: string, start: number): HeaderLines | undefined {
  const headers = new Map<string, string>();
  let end = start;
  for (let count = 0; end < text.length; count++) {
    if (count > maximumHeaders) return { headers, end, areTooMany: true };
    const line = lineAt(text, end);
    const colon = line.text.indexOf(":");
    if (colon < 0) return { headers, end, areTooMany: false };
    headers.set(line.text.slice(0, colon).trim(), line.text.slice(colon + 1).trim());
    end = line.next;
  }
  return undefined;
}

/** A line without its line break and trailing blanks, and the start of the next line. */
function lineAt(text: string, start: number): { text: string; next: number } {
  const lineBreak = text.indexOf("\n", start);
  const next = lineBreak < 0 ? text.length : lineBreak + 1;
  let end = lineBreak < 0 ? text.length : lineBreak;
  if (lineBreak > start && text[end - 1] === "\r") end--;
  while (end > start && (text[end - 1] === " " || text[end - 1] === "\t")) end--;
  return { text: text.slice(start, end), next };
}

/** Decodes standard base64 with padding. Blanks and line breaks are allowed anywhere. */
function decodeBase64(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/ \t\r\n]*(?:=[ \t\r\n]*){0,2}$/.test(text)) return undefined;
  let digits = 0;
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0x20) digits++;
  return digits % 4 === 0 ? Buffer.from(text, "base64") : undefined;
}

/** Encodes a block without headers, with 64 base64 digits per line. */
export function encodePem(type: string, bytes: Uint8Array): string {
  const digits = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
  let lines = "";
  for (let start = 0; start < digits.length; start += 64) lines += `${digits.slice(start, start + 64)}\n`;
  return `-----BEGIN ${type}-----\n${lines}-----END ${type}-----\n`;
}
