import type { ApiObject } from "../api/object-meta.ts";

const opening = '{"metadata":{';

/** What all objects of one kind begin with when they are served: `"kind":"ServiceAccount","apiVersion":"v1",`. */
export type KindPrefix = string;

export const kindPrefix = ({ kind, apiVersion }: { readonly kind: string; readonly apiVersion: string }): KindPrefix =>
  `"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`;

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
 * One version of an object, kept as the text that is stored. Its served forms are made by splicing, without decoding: a
 * string takes a third of the memory that a buffer of its own would, and writing it out costs the same. It never changes,
 * and neither may what its getters return.
 */
export class StoredObject<T extends ApiObject = ApiObject> {
  readonly key: string;
  readonly revision: number;
  readonly #prefix: KindPrefix;
  /** What follows `{"metadata":{` in the stored form. */
  readonly #content: string;
  /** Weak: it is several times as large as the text, and most objects are not looked into twice. */
  #object: WeakRef<T> | undefined;
  /** null: not looked at yet. */
  #labels: Readonly<Record<string, string>> | undefined | null = null;

  constructor({ prefix, key, value, revision }: StoredVersion) {
    this.key = key;
    this.revision = revision;
    this.#prefix = prefix;
    this.#content = contentOf(value);
  }

  /** About what it takes in memory: in UTF-16 units, which cost nothing to count. */
  get textLength(): number {
    return this.#content.length;
  }

  /** Of the stored form. */
  storedBytes(): number {
    return opening.length + Buffer.byteLength(this.#content);
  }

  get resourceVersion(): string {
    return String(this.revision);
  }

  /** The whole object as JSON, without a line feed. */
  get text(): string {
    return `{${this.#prefix}${this.#metadataAndContent}`;
  }

  /** The object as lists hold it, without kind and apiVersion. */
  get itemText(): string {
    return `{${this.#metadataAndContent}`;
  }

  get object(): T {
    const known = this.#object?.deref();
    if (known !== undefined) return known;
    const object = JSON.parse(this.text) as T; // our own encoding of a T
    this.#object = new WeakRef(object);
    return object;
  }

  /** Kept apart from the rest: label selectors look at every object of a list. */
  get labels(): Readonly<Record<string, string>> | undefined {
    if (this.#labels === null) this.#labels = this.object.metadata.labels;
    return this.#labels;
  }

  hasValue(value: Buffer): boolean {
    return this.#content === contentOf(value);
  }

  /** The same content at another revision: what a watch shows of an object that is gone. */
  at(revision: number): StoredObject<T> {
    const value = Buffer.from(opening + this.#content);
    return new StoredObject<T>({ prefix: this.#prefix, key: this.key, value, revision });
  }

  get #metadataAndContent(): string {
    const version = this.revision === 0 ? "" : `"resourceVersion":"${this.revision}",`;
    return `"metadata":{${version}${this.#content}`;
  }
}

const contentOf = (value: Buffer): string => value.toString("utf8", opening.length);
