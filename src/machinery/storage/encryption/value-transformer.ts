import { openBrace } from "../../api/json/json-codes.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";

/** Encrypts and decrypts values with one key, or leaves them as they are. */
export interface ValueTransformer {
  /** The prefix of every value that the transformer writes, such as `k8s:enc:aesgcm:v1:key1:`. Empty: values are plain. */
  readonly prefix: string;
  /** Returns the stored form, with the prefix. Throws or rejects when it can't encrypt now. */
  encrypt(plain: Buffer, storageKey: string): MaybePromise<Buffer>;
  /** Takes a stored form that starts with the prefix. Throws or rejects with UndecryptableValue. */
  decrypt(stored: Buffer, storageKey: string): MaybePromise<DecryptedValue>;
}

export interface DecryptedValue {
  readonly plain: Buffer;
  /** Whether the transformer would now write the value with another key. */
  readonly isStale: boolean;
}

/** A stored value can't be read. The message is for people, and holds nothing secret. */
export class UndecryptableValue extends Error {
  override readonly name = "UndecryptableValue";
}

/** A value can't be read now, because its KMS does not give the key. It may become readable again. */
export class KmsUnavailable extends UndecryptableValue {}

/** A value was changed, cut, moved to another key, or encrypted with another key of the same name. */
export const notAuthentic = (): UndecryptableValue =>
  new UndecryptableValue("it was changed or moved, or encrypted with another key of this name");

export const tooShort = (): UndecryptableValue => new UndecryptableValue("it was cut: it is too short");

/** The prefix of an encrypted value: of upstream's providers, or of Signet's own. */
const encryptedPrefix = /^(?:k8s|signet):enc:([a-z0-9]+):(v\d+):([^:]*):/;
/** How many bytes are searched for a prefix, which is shorter because names of keys are. */
const longestPrefixBytes = 512;

/** Names the provider, version and key with which a stored value was encrypted, such as `aesgcm:v1:key1`. Undefined: the value is plain. */
export function writtenWith(stored: Buffer): string | undefined {
  if (stored[0] === openBrace) return undefined; // every plain value is a JSON object
  const found = encryptedPrefix.exec(stored.toString("latin1", 0, longestPrefixBytes));
  return found === null ? undefined : `${found[1]}:${found[2]}:${found[3]}`;
}

/** Writes plain values, and reads everything that is not encrypted. */
export const identity: ValueTransformer = {
  prefix: "",
  encrypt: (plain) => plain,
  decrypt(stored) {
    const provider = writtenWith(stored);
    if (provider === undefined) return { plain: stored, isStale: false };
    throw new UndecryptableValue(`it is encrypted with ${provider}, which this server does not have`);
  },
};
