import { noBytes } from "../api/bytes/no-bytes.ts";
import { entryOverheadBytes, firstDynamicIndex, maximumTableBytes, staticTable } from "./header-table.ts";
import { decodeHuffman } from "./huffman-code.ts";
import { ConnectionError, errorCodes } from "./protocol.ts";

interface Field {
  readonly name: string;
  readonly value: string;
  /** Whether HTTP allows the characters of the name. */
  readonly isNameValid: boolean;
  /** Whether HTTP allows the characters of name and value (RFC 9113 section 8.2.1). */
  readonly isValid: boolean;
}

/** Receives the fields of a block in their order. */
export interface FieldSink {
  add(name: string, value: string): void;
  /** Called for a field with characters that HTTP does not allow. */
  addInvalid(): void;
}

const evicted: Field = { name: "", value: "", isNameValid: false, isValid: false };
const staticFields: readonly Field[] = staticTable.map(([name, value]) => ({
  name,
  value,
  isNameValid: true,
  isValid: true,
}));

/** At the beginning of a block: the smallest size since the last block, and the current size (RFC 7541 section 4.2). */
const maximumResizes = 2;

const nameCharacters = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const valueCharacters = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Whether HTTP allows a field's characters (RFC 9113 section 8.2.1). Upper case is not allowed in names. */
export const isValidField = (name: string, value: string): boolean =>
  nameCharacters.test(name) && valueCharacters.test(value);

/**
 * Decodes the header blocks of one connection, in the order in which they came (HPACK, RFC 7541). Each block can change the
 * table that later blocks refer to, so every block must be decoded, also the block of a refused request. Every malformed block throws a
 * ConnectionError.
 */
export class HeaderDecoder {
  /** The dynamic table, oldest first. */
  #fields: Field[] = [];
  /** The entries before this index are evicted. */
  #oldest = 0;
  #tableBytes = 0;
  #allowedTableBytes = maximumTableBytes;
  #block = noBytes;
  #at = 0;

  decode(block: Buffer, sink: FieldSink): void {
    this.#block = block;
    this.#at = 0;
    let resizesLeft = maximumResizes;
    while (this.#at < block.length) {
      const first = block[this.#at] as number; // the loop ends at the length
      if ((first & 0x80) !== 0) {
        const field = this.#field(this.#readInteger(7));
        if (field.isValid) sink.add(field.name, field.value);
        else sink.addInvalid();
      } else if ((first & 0xe0) === 0x20) {
        if (resizesLeft === 0) throw malformed("a table size update comes after a field, or after two others");
        this.#resize(this.#readInteger(5));
        resizesLeft--;
        continue;
      } else this.#readLiteral({ isIndexed: (first & 0x40) !== 0, sink });
      resizesLeft = 0;
    }
    this.#block = noBytes;
  }

  #readLiteral({ isIndexed, sink }: { readonly isIndexed: boolean; readonly sink: FieldSink }): void {
    const nameIndex = this.#readInteger(isIndexed ? 6 : 4);
    // A name from the table is not checked again: it can be long, but costs the client only one byte.
    const { name, isNameValid } = nameIndex === 0 ? this.#readName() : this.#field(nameIndex);
    const value = this.#readString();
    const isValid = isNameValid && valueCharacters.test(value);
    if (isIndexed) this.#insert({ name, value, isNameValid, isValid });
    if (isValid) sink.add(name, value);
    else sink.addInvalid();
  }

  #readName(): Pick<Field, "name" | "isNameValid"> {
    const name = this.#readString();
    return { name, isNameValid: nameCharacters.test(name) };
  }

  #field(index: number): Field {
    const field =
      index < firstDynamicIndex
        ? staticFields[index - 1]
        : this.#fields[this.#fields.length - 1 - (index - firstDynamicIndex)];
    if (field === undefined || index - firstDynamicIndex >= this.#fields.length - this.#oldest)
      throw malformed("an index is beyond the table");
    return field;
  }

  #insert(field: Field): void {
    this.#fields.push(field);
    this.#tableBytes += bytesOf(field);
    this.#evict();
  }

  #resize(bytes: number): void {
    if (bytes > maximumTableBytes) throw malformed("a table size is larger than allowed");
    this.#allowedTableBytes = bytes;
    this.#evict();
  }

  #evict(): void {
    while (this.#tableBytes > this.#allowedTableBytes) {
      this.#tableBytes -= bytesOf(this.#fields[this.#oldest] as Field); // as long as it has bytes, it has an entry
      // Before the array is cut: an entry can be larger than the table, and must not stay in memory so long.
      this.#fields[this.#oldest] = evicted;
      this.#oldest++;
    }
    // Not for each evicted entry, which would move all the others.
    if (this.#oldest > 64 && this.#oldest * 2 > this.#fields.length) {
      this.#fields = this.#fields.slice(this.#oldest);
      this.#oldest = 0;
    }
  }

  /** RFC 7541 section 5.1. */
  #readInteger(prefixBits: number): number {
    const largestPrefix = (1 << prefixBits) - 1;
    let value = this.#readByte() & largestPrefix;
    if (value < largestPrefix) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#readByte();
      value += (byte & 0x7f) << shift;
      if ((byte & 0x80) === 0) return value;
    }
    throw malformed("an integer is too large");
  }

  /** RFC 7541 section 5.2. */
  #readString(): string {
    const isHuffmanCoded = ((this.#block[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#readInteger(7);
    const start = this.#at;
    const end = start + length;
    if (end > this.#block.length) throw malformed("a string is longer than its block");
    this.#at = end;
    return isHuffmanCoded ? decodeHuffman(this.#block, { start, end }) : this.#block.toString("latin1", start, end);
  }

  #readByte(): number {
    const byte = this.#block[this.#at++];
    if (byte === undefined) throw malformed("a block ends too early");
    return byte;
  }
}

const bytesOf = ({ name, value }: Field): number => name.length + value.length + entryOverheadBytes;

const malformed = (message: string): ConnectionError => new ConnectionError(errorCodes.compressionError, message);
