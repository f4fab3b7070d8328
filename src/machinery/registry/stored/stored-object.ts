import type { ApiObject } from "../../api/object-meta.ts";
import { shortTextLength } from "../../scheduling/request-turn.ts";
import { serviceUnavailable } from "../../api/api-error.ts";
import { parseExactly } from "../../schema/parse-json.ts";
import { jsonMember } from "./json-member.ts";
import type { TextsOfKind } from "./stored-texts.ts";

const opening = '{"metadata":{';

/** The start of every served object of a kind: `"kind":"ServiceAccount","apiVersion":"v1",`. */
export type KindPrefix = string;

export const kindPrefix = ({ kind, apiVersion }: { readonly kind: string; readonly apiVersion: string }): KindPrefix =>
  `"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`;

/**
 * Encodes an object for the store: JSON that starts with the metadata. It leaves out kind and apiVersion, which are the
 * same for all objects of a kind, and resourceVersion, which is the revision of the key.
 */
export function encodeStored(object: ApiObject): Buffer {
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...content } = object;
  const { resourceVersion: _resourceVersion, selfLink: _selfLink, ...stored } = metadata;
  return Buffer.from(JSON.stringify({ metadata: stored, ...content }));
}

type Labels = Readonly<Record<string, string>>;

/** The labels of long objects, which are parsed once because each watch of an object reads them. */
const labelsOfLongTexts = new WeakMap<StoredObject, Labels | undefined>();

interface StoredVersion {
  readonly prefix: KindPrefix;
  readonly key: string;
  /** The output of `encodeStored`. Absent: read it from `texts`. */
  readonly value?: Buffer;
  /** 0: the object is not stored (a dry run) and is shown without resourceVersion. */
  readonly revision: number;
  /** Whether the store would now write the object in another form, so that an update is written even when it changes nothing. */
  readonly isStale?: boolean;
  /** Where the object reads its text after an eviction. Absent: it keeps its text. */
  readonly texts?: TextsOfKind | undefined;
  /** The object that `value` encodes. Absent: the value is parsed when a reader needs the object. */
  readonly object?: ApiObject | undefined;
}

/**
 * One version of an object: its stored text, or where to read it again. The served forms are spliced from this text without
 * decoding: a string takes a third of the memory of a separate buffer, and writing it costs the same. Immutable, and so is
 * everything that its getters return.
 */
export class StoredObject<T extends ApiObject = ApiObject> {
  readonly key: string;
  readonly revision: number;
  readonly isStale: boolean;
  readonly #prefix: KindPrefix;
  /** The approximate memory of the text, in UTF-16 units, which need no counting. 0 until the text is first read. */
  textLength = 0;
  /** The length of the stored form in bytes. 0 until the text is first read. */
  storedBytes = 0;
  /** The stored form after `{"metadata":{`. Undefined: read it from `#texts`. */
  #content: string | undefined;
  #texts: TextsOfKind | undefined;
  /**
   * A weak reference: the decoded object is several times as large as the text, and most objects are decoded at most
   * once.
   */
  #object: WeakRef<T> | undefined;

  constructor({ prefix, key, value, revision, isStale = false, texts, object }: StoredVersion) {
    this.key = key;
    this.revision = revision;
    this.isStale = isStale;
    this.#prefix = prefix;
    this.#texts = texts;
    if (object !== undefined) this.#object = new WeakRef(atRevision(object, revision) as T);
    if (value !== undefined) this.#keep(contentOf(value), value.length);
  }

  /** Reads the text, and keeps it until it is evicted. */
  loadText(): this {
    const value = this.#content === undefined ? this.#foundValue() : undefined;
    if (value !== undefined) this.#keep(contentOf(value), value.length);
    return this;
  }

  #keep(text: string, storedBytes: number): void {
    this.#content = text;
    this.textLength = text.length;
    this.storedBytes = storedBytes;
    this.#texts?.keep(this, text.length);
  }

  /** Frees the text if it can be read from the store again. */
  evictText(): void {
    if (this.#texts === undefined) return;
    this.#content = undefined;
    this.#texts.onEvicted(this);
  }

  /** Keeps the text from now on, because the store may remove it after a newer write. */
  keepText(): void {
    this.#content ??= this.#foundText();
    if (this.#content === undefined) return;
    this.textLength = this.#content.length;
    this.#texts = undefined;
  }

  /** Whether its text is not in memory, but can be read from the store. */
  get isTextEvicted(): boolean {
    return this.#content === undefined && this.#texts !== undefined;
  }

  /** Whether the text is in memory or can be read. False: the store has removed it. */
  get hasText(): boolean {
    return (this.#content ?? this.#foundText()) !== undefined;
  }

  /** Why the object can't be decrypted. Then its contents throw a 500. */
  get unreadable(): string | undefined {
    return undefined;
  }

  get resourceVersion(): string {
    return String(this.revision);
  }

  /** The whole object as JSON, without a line feed. */
  get text(): string {
    return this.textAs(this.#prefix);
  }

  /** As `text`, with another kind prefix: under another apiVersion. */
  textAs(prefix: KindPrefix): string {
    return `{${prefix}${this.#metadataAndContent}`;
  }

  /** The object as an item of a list, without kind and apiVersion. */
  get itemText(): string {
    return `{${this.#metadataAndContent}`;
  }

  get object(): T {
    const known = this.#object?.deref();
    if (known !== undefined) return known;
    const object = parseExactly(this.text) as T; // our own encoding of a T
    this.#object = new WeakRef(object);
    return object;
  }

  /** The labels, which are parsed without the rest of the object, because label selectors read those of many objects. */
  get labels(): Labels | undefined {
    if (this.textLength <= shortTextLength) return this.#readLabels();
    if (!labelsOfLongTexts.has(this)) labelsOfLongTexts.set(this, this.#readLabels());
    return labelsOfLongTexts.get(this);
  }

  #readLabels(): Labels | undefined {
    const text = jsonMember(this.#storedText, "labels");
    return text === undefined ? undefined : (JSON.parse(text) as Labels); // our own encoding
  }

  /** Whether one of these texts, written as JSON.stringify writes them, occurs in the stored JSON. Does not parse. */
  contains(texts: readonly string[]): boolean {
    const stored = this.#storedText;
    return texts.some((text) => stored.includes(text));
  }

  /**
   * Whether the object has a field with one of these names, at any depth. Searches the text without parsing it: a quote inside a
   * JSON string is escaped, so `"name":` can only be a field.
   */
  hasAnyField(names: readonly string[]): boolean {
    return this.contains(names.map((name) => `"${name}":`));
  }

  /** The same object at another revision, which shares the text. A watch shows it for a deleted object. */
  at(revision: number): StoredObject<T> {
    const other = new StoredObject<T>({ prefix: this.#prefix, key: this.key, revision });
    other.#keep(this.#storedText, this.storedBytes);
    return other;
  }

  get #metadataAndContent(): string {
    const version = this.revision === 0 ? "" : `"resourceVersion":"${this.revision}",`;
    return `"metadata":{${version}${this.#storedText}`;
  }

  /** The stored text. Throws a 503 when the store no longer has it: the cache is far behind, or the store has lost the text. */
  get #storedText(): string {
    const text = this.#content ?? this.#foundText();
    if (text === undefined) throw serviceUnavailable(goneText(this.key));
    return text;
  }

  #foundText(): string | undefined {
    const value = this.#foundValue();
    return value && contentOf(value);
  }

  #foundValue(): Buffer | undefined {
    return this.#texts?.valueAt(this);
  }
}

/** The object that the text of this version would be parsed to, with its fields in the same order. */
function atRevision({ kind, apiVersion, metadata, ...content }: ApiObject, revision: number): ApiObject {
  const { resourceVersion: _resourceVersion, selfLink: _selfLink, ...stored } = metadata;
  const version = revision === 0 ? {} : { resourceVersion: String(revision) };
  return { kind, apiVersion, metadata: { ...version, ...stored }, ...content };
}

const goneText = (key: string): string =>
  `the server's copy of ${JSON.stringify(key)} is out of date: try again; if that does not help, signet doctor looks for damage of the store`;

const contentOf = (value: Buffer): string => value.toString("utf8", opening.length);
