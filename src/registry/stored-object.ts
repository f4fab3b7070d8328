import type { ApiObject } from "../api/object-meta.ts";

const opening = Buffer.from('{"metadata":{');
const lineFeed = Buffer.from("\n");

/** What all objects of one kind begin with when they are served: `{"kind":"ServiceAccount","apiVersion":"v1",`. */
export type KindPrefix = Buffer;

export const kindPrefix = ({ kind, apiVersion }: { readonly kind: string; readonly apiVersion: string }): KindPrefix =>
  Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`);

/**
 * An object as it is stored: JSON that begins with its metadata and has no kind, apiVersion and resourceVersion, which
 * are the same for all of a kind or the revision of the key.
 */
export function encodeStored(object: ApiObject): Buffer {
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...content } = object;
  const { resourceVersion: _resourceVersion, selfLink: _selfLink, ...stored } = metadata;
  return Buffer.from(JSON.stringify({ metadata: stored, ...content }));
}

export interface StoredVersion {
  readonly prefix: KindPrefix;
  readonly key: string;
  /** What `encodeStored` made. */
  readonly value: Buffer;
  /** 0: the object is not stored (a dry run) and is shown without resourceVersion. */
  readonly revision: number;
}

/**
 * One version of an object. Its served forms are made on first use, by splicing and without decoding, and then kept.
 * It never changes, and neither may what its getters return.
 */
export class StoredObject<T extends ApiObject = ApiObject> {
  readonly key: string;
  readonly revision: number;
  readonly #prefix: KindPrefix;
  /** What follows `{"metadata":{` in the stored form. Once `#bytes` is made it is a view of that. */
  #content: Buffer;
  #bytes: Buffer | undefined;
  #object: T | undefined;

  constructor({ prefix, key, value, revision }: StoredVersion) {
    this.key = key;
    this.revision = revision;
    this.#prefix = prefix;
    this.#content = value.subarray(opening.length);
  }

  get resourceVersion(): string {
    return String(this.revision);
  }

  /** The whole object as JSON and a line feed: the body of a get. */
  get bytes(): Buffer {
    if (this.#bytes === undefined) {
      const metadata = this.revision === 0 ? '"metadata":{' : `"metadata":{"resourceVersion":"${this.revision}",`;
      this.#bytes = Buffer.concat([this.#prefix, Buffer.from(metadata), this.#content, lineFeed]);
      this.#content = this.#bytes.subarray(-1 - this.#content.length, -1);
    }
    return this.#bytes;
  }

  get object(): T {
    this.#object ??= JSON.parse(this.bytes.toString("utf8")) as T; // our own encoding of a T
    return this.#object;
  }

  /** The bytes that `copyItem` writes. */
  get itemLength(): number {
    return this.bytes.length - this.#prefix.length;
  }

  /** Writes the object as lists hold it, without kind and apiVersion. Returns the position after it. */
  copyItem(target: Buffer, position: number): number {
    target[position] = 0x7b; // {
    return position + 1 + this.bytes.copy(target, position + 1, this.#prefix.length, this.bytes.length - 1);
  }

  /** The object as lists hold it. */
  get itemBytes(): Buffer {
    const bytes = Buffer.allocUnsafe(this.itemLength);
    this.copyItem(bytes, 0);
    return bytes;
  }

  hasValue(value: Buffer): boolean {
    return this.#content.equals(value.subarray(opening.length));
  }

  /** The same content at another revision: what a watch shows of an object that is gone. */
  at(revision: number): StoredObject<T> {
    const value = Buffer.concat([opening, this.#content]);
    return new StoredObject<T>({ prefix: this.#prefix, key: this.key, value, revision });
  }
}
