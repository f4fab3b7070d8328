import { openBrace } from "../../api/json/json-codes.ts";
import { andThen } from "../../api/maybe-promise.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import { identity, UndecryptableValue } from "./value-transformer.ts";
import type { DecryptedValue, ValueTransformer } from "./value-transformer.ts";
import { prefixEnd } from "../key-range.ts";

/** How the values below a prefix of keys are stored: the first transformer writes, all read. */
export interface EncryptionRule {
  /** Such as `/registry/secrets/`. */
  readonly prefix: string;
  readonly transformers: readonly ValueTransformer[];
}

export interface EncryptionRulesOptions {
  /** Of several rules for a key, the first one counts. */
  readonly rules: readonly EncryptionRule[];
  /** Transformers that read values of every key, after those of the rules. They read what the data directory's key has encrypted. */
  readonly readers?: readonly ValueTransformer[];
}

/** Which values are encrypted, and how. Immutable: a new configuration makes new rules. */
export class EncryptionRules {
  readonly #rules: readonly EncryptionRule[];
  readonly #others: readonly ValueTransformer[];

  constructor({ rules, readers = [] }: EncryptionRulesOptions) {
    this.#rules = rules.map(({ prefix, transformers }) => ({ prefix, transformers: [...transformers, ...readers] }));
    this.#others = [identity, ...readers];
  }

  /** The transformer that writes the values of a key. Undefined: they are written as they are. */
  writerFor(storageKey: string): ValueTransformer | undefined {
    const first = this.#transformersFor(storageKey)?.[0];
    return first === identity ? undefined : first;
  }

  /** Whether a stored value is plain, so that clients get it as it is. Allocates nothing, because it is called for every value. */
  isPlain(storageKey: string, stored: Buffer): boolean {
    return stored[0] === openBrace && this.#transformersFor(storageKey) === undefined;
  }

  /** Whether no rule applies to any key of a range. */
  hasNone({ start, end }: { readonly start: string; readonly end: string }): boolean {
    return this.#rules.every(({ prefix }) => prefixEnd(prefix) <= start || prefix >= end);
  }

  /** Decrypts a stored value. Throws or rejects with UndecryptableValue. */
  decrypt(storageKey: string, stored: Buffer): MaybePromise<DecryptedValue> {
    const transformers = this.#transformersFor(storageKey) ?? this.#others;
    const readers = transformers.filter(({ prefix }) => hasPrefix(stored, prefix));
    return decryptWithFirst(readers, { storageKey, stored, writer: transformers[0] });
  }

  #transformersFor(storageKey: string): readonly ValueTransformer[] | undefined {
    for (const { prefix, transformers } of this.#rules) if (storageKey.startsWith(prefix)) return transformers;
    return undefined;
  }
}

interface StoredAt {
  readonly storageKey: string;
  readonly stored: Buffer;
  readonly writer: ValueTransformer | undefined;
  /** The error of the first reader that failed. */
  readonly failure?: UndecryptableValue;
}

/**
 * Decrypts with the first reader that can, as upstream does. Several readers may have the value's prefix: two keys with one name, or the
 * identity as the last one.
 */
function decryptWithFirst(readers: readonly ValueTransformer[], at: StoredAt): MaybePromise<DecryptedValue> {
  const [reader, ...others] = readers;
  if (reader === undefined) throw at.failure ?? new UndecryptableValue("no matching prefix found");
  const afterFailure = (error: unknown): MaybePromise<DecryptedValue> => {
    if (!(error instanceof UndecryptableValue)) throw error;
    return decryptWithFirst(others, { ...at, failure: at.failure ?? error });
  };
  try {
    const found = andThen(reader.decrypt(at.stored, at.storageKey), ({ plain, isStale }) => ({
      plain,
      isStale: isStale || reader !== at.writer,
    }));
    return found instanceof Promise ? found.catch(afterFailure) : found;
  } catch (error) {
    return afterFailure(error);
  }
}

const hasPrefix = (stored: Buffer, prefix: string): boolean =>
  prefix === "" || stored.toString("latin1", 0, prefix.length) === prefix;
