import { isValidField } from "./header-decoder.ts";
import { entryOverheadBytes, firstDynamicIndex, maximumTableBytes, staticTable } from "./header-table.ts";

/** Header fields with names in lower case, pseudo-header fields first. */
export type HeaderFields = readonly (readonly [name: string, value: string])[];

const keyOf = (name: string, value: string): string => `${name}\0${value}`;
const staticIndexes = new Map(staticTable.map(([name, value], at) => [keyOf(name, value), at + 1]));

/**
 * Encodes the header blocks of one connection, in the order in which they are sent (HPACK, RFC 7541). For clients that repeat a few
 * requests: each field is sent once, and afterwards as an index. A field that does not fit into the table is sent each time.
 */
export class RequestHeaderEncoder {
  /** For each field in the table, how many were inserted before it. Nothing is ever evicted. */
  readonly #positions = new Map<string, number>();
  /** Blocks that are only indexes, which stay valid until a field is inserted. */
  readonly #blocks = new Map<HeaderFields, Buffer>();
  #tableBytes = 0;
  #allowedTableBytes = maximumTableBytes;
  /** The peer allows a smaller table than this one. */
  #mustEmpty = false;

  /** Takes the peer's SETTINGS_HEADER_TABLE_SIZE. If the peer allows a smaller table, the table is empty from then on. */
  limitTable(bytes: number): void {
    if (bytes >= this.#allowedTableBytes) return;
    this.#allowedTableBytes = 0;
    this.#mustEmpty = true;
    this.#positions.clear();
    this.#blocks.clear();
  }

  /** Throws a TypeError for fields that HTTP does not allow. Changes nothing. */
  check(fields: HeaderFields): void {
    if (this.#blocks.has(fields) || fields.every(([name, value]) => isValidField(name, value))) return;
    throw new TypeError("a header of a request has a character that HTTP does not allow");
  }

  /** Encodes fields that `check` has accepted. The caller must send every block, because later blocks depend on it. */
  encode(fields: HeaderFields): Buffer {
    const known = this.#blocks.get(fields);
    if (known !== undefined) return known;
    const bytes: number[] = [];
    if (this.#mustEmpty) bytes.push(0x20);
    this.#mustEmpty = false;
    let isIndexed = bytes.length === 0;
    for (const [name, value] of fields) {
      const index = this.#indexOf(name, value);
      if (index === undefined) {
        isIndexed = false;
        this.#literal(bytes, { name, value });
      } else writeInteger(bytes, { value: index, flags: 0x80 });
    }
    const block = Buffer.from(bytes);
    if (isIndexed) this.#blocks.set(fields, block);
    return block;
  }

  #indexOf(name: string, value: string): number | undefined {
    const key = keyOf(name, value);
    const position = this.#positions.get(key);
    return position === undefined ? staticIndexes.get(key) : firstDynamicIndex + this.#positions.size - 1 - position;
  }

  #literal(bytes: number[], { name, value }: { readonly name: string; readonly value: string }): void {
    const entryBytes = name.length + value.length + entryOverheadBytes;
    const fits = this.#tableBytes + entryBytes <= this.#allowedTableBytes;
    bytes.push(fits ? 0x40 : 0);
    writeString(bytes, name);
    writeString(bytes, value);
    if (!fits) return;
    this.#tableBytes += entryBytes;
    this.#positions.set(keyOf(name, value), this.#positions.size);
    // The insertion has moved all indexes.
    this.#blocks.clear();
  }
}

/** Writes a text without Huffman code, because each text is sent only once. */
function writeString(bytes: number[], text: string): void {
  writeInteger(bytes, { value: text.length, flags: 0 });
  for (let at = 0; at < text.length; at++) bytes.push(text.charCodeAt(at));
}

const largestPrefix = 0x7f;

/** Writes an index or a length with a prefix of seven bits (RFC 7541 section 5.1). `flags` is the other bit of the first octet. */
function writeInteger(bytes: number[], { value, flags }: { readonly value: number; readonly flags: number }): void {
  if (value < largestPrefix) {
    bytes.push(flags | value);
    return;
  }
  bytes.push(flags | largestPrefix);
  let rest = value - largestPrefix;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
}
