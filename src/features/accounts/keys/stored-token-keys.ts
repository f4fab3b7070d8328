import { join } from "node:path";
import { messageOf } from "../../../machinery/api/thrown-error.ts";
import { serviceUnavailable } from "../../../machinery/api/api-error.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { MaybePromise } from "../../../machinery/api/maybe-promise.ts";
import { readPrivateFile } from "../../../machinery/files/private-file.ts";
import { UnusableFile } from "../../../machinery/files/unusable-file.ts";
import { changeKeyRecord } from "../../../machinery/keys/key-records.ts";
import type { FollowedKeyRecords, StoredRecord } from "../../../machinery/keys/key-records.ts";
import type { SealingKey } from "../../../machinery/keys/sealing-key.ts";
import { StoreUnavailable } from "../../../machinery/storage/store.ts";
import type { Store } from "../../../machinery/storage/store.ts";
import { tokenSigner } from "../tokens/json-web-token.ts";
import { parseTokenSigningKey } from "../tokens/token-key.ts";
import type { TokenSigningKey } from "../tokens/token-key.ts";
import { verificationKeys } from "./token-keys.ts";
import type { TokenSigner, TokenKeys, VerificationKeys } from "./token-keys.ts";
import { keyRingRecord, maySign, sealedTokenKeyName, signingKeyAt, withLifetime } from "./key-ring.ts";
import type { KeyRing, RingKey } from "./key-ring.ts";
import type { FollowedOperatorKeys } from "./operator-keys.ts";
import type { Log } from "../../../machinery/logging/log.ts";

export interface StoredTokenKeysOptions {
  readonly store: Store;
  readonly records: FollowedKeyRecords;
  readonly sealingKey: SealingKey;
  readonly dataDirectory: string;
  readonly operatorKeys: FollowedOperatorKeys;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The token keys that all workers and replicas share through the store, and the operator's keys. If the operator has a signing key, it
 * signs. All of these keys verify.
 */
export class StoredTokenKeys implements TokenKeys {
  readonly #options: StoredTokenKeysOptions;
  #ring: KeyRing;
  /** The revision of the ring. */
  #revision: number;
  /** The revision of a record that can't be used. */
  #unusableRevision: number | undefined;
  #privateKeys: ReadonlyMap<string, TokenSigningKey> = new Map();
  #verification: VerificationKeys;
  #recording: Promise<void> | undefined;

  /** The first argument is the present record of the store. Throws UnusableFile for a private key that is not here. */
  constructor({ value: ring, revision }: StoredRecord<KeyRing>, options: StoredTokenKeysOptions) {
    this.#options = options;
    this.#ring = ring;
    this.#revision = revision;
    this.#privateKeys = this.#opened(ring);
    this.#verification = this.#published();
    options.records.onChange(() => this.#recordChanged());
    // Another process may have changed the record since it was read.
    this.#recordChanged();
    options.operatorKeys.onChange(() => (this.#verification = this.#published()));
  }

  verification(): VerificationKeys {
    return this.#verification;
  }

  signing(): TokenSigner {
    return this.#options.operatorKeys.current().signing?.signer ?? this.#signerOf(this.#signingEntry());
  }

  signingFor(lifetimeSeconds: number): MaybePromise<TokenSigner> {
    const { signing } = this.#options.operatorKeys.current();
    if (signing !== undefined) return signing.signer;
    const entry = this.#signingEntry();
    return maySign(entry, lifetimeSeconds)
      ? this.#signerOf(entry)
      : this.#record(entry, lifetimeSeconds).then(() => this.signingFor(lifetimeSeconds));
  }

  learn(kid: string): Promise<void> | undefined {
    return this.#options.operatorKeys.learn?.(kid);
  }

  #signingEntry(): RingKey {
    const entry = signingKeyAt(this.#ring, this.#options.clock.now()) ?? this.#ring.keys[0];
    if (entry === undefined) throw new Error("no token key is there");
    return entry;
  }

  #signerOf({ kid }: RingKey): TokenSigner {
    const key = this.#privateKeys.get(kid);
    if (key === undefined) throw new Error(`the token key ${kid} is not there`);
    return tokenSigner(key);
  }

  #published(): VerificationKeys {
    const { verification, cacheSeconds } = this.#options.operatorKeys.current();
    const newestFirst = this.#ring.keys.toReversed().flatMap(({ kid }) => this.#privateKeys.get(kid) ?? []);
    return verificationKeys([...verification, ...newestFirst], cacheSeconds);
  }

  /**
   * Records that the key signs tokens of this lifetime. During another write, waits for that write instead: it may record a lifetime that
   * is long enough.
   */
  async #record(entry: RingKey, lifetimeSeconds: number): Promise<void> {
    if (this.#recording !== undefined) return this.#recording;
    const { store } = this.#options;
    const recording = changeKeyRecord({ store, record: keyRingRecord }, (ring) => {
      if (ring === undefined) throw new Error("the record of the token keys is gone");
      return withLifetime(ring, { kid: entry.kid, lifetimeSeconds });
    }).then((stored) => this.#use(stored));
    this.#recording = recording;
    try {
      await recording;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      throw serviceUnavailable(`no token can be issued now: ${error.message}`);
    } finally {
      this.#recording = undefined;
    }
  }

  #recordChanged(): void {
    const { records, log } = this.#options;
    const stored = records.recordOf(keyRingRecord.name);
    if (stored === undefined || stored.revision === this.#unusableRevision) return;
    try {
      this.#use({ value: keyRingRecord.parse(stored.value), revision: stored.revision });
    } catch (error) {
      this.#unusableRevision = stored.revision;
      log.error(
        { error: messageOf(error) },
        "the token keys in the store can't be used; the previous ones stay in use",
      );
    }
  }

  /** Ignores a ring that is older than the present one: this process may see its own write after a later write of another process. */
  #use({ value: ring, revision }: StoredRecord<KeyRing>): void {
    if (revision <= this.#revision) return;
    const before = this.#ring.keys.map(({ kid }) => kid);
    const privateKeys = this.#opened(ring);
    this.#ring = ring;
    this.#revision = revision;
    this.#privateKeys = privateKeys;
    const added = ring.keys.filter(({ kid }) => !before.includes(kid));
    const removed = before.filter((kid) => !privateKeys.has(kid));
    if (added.length === 0 && removed.length === 0) return;
    this.#verification = this.#published();
    for (const { kid, algorithm, signsFrom } of added) {
      this.#options.log.info({ key: kid, algorithm, signsFrom }, "token key published");
    }
    for (const kid of removed) this.#options.log.info({ key: kid }, "token key retired");
  }

  /** The private keys of a ring. Opens only keys that are not open yet. Throws UnusableFile. */
  #opened({ keys }: KeyRing): ReadonlyMap<string, TokenSigningKey> {
    const { sealingKey, dataDirectory } = this.#options;
    return new Map(
      keys.map(({ kid, privateKey }) => {
        const known = this.#privateKeys.get(kid);
        if (known !== undefined) return [kid, known];
        const key =
          "sealed" in privateKey
            ? parseTokenSigningKey(sealingKey.unseal(privateKey.sealed, sealedTokenKeyName(kid)))
            : readTokenKeyFile(join(dataDirectory, privateKey.file));
        if (key?.kid === kid) return [kid, key];
        const file = "file" in privateKey ? privateKey.file : "";
        throw new UnusableFile(
          `this replica cannot verify the tokens of the other replicas, or those issued before: ${join(dataDirectory, file)} ` +
            `is not the key ${kid}; copy the same ${file} into all data directories, or restore it from a backup`,
        );
      }),
    );
  }
}

/** Reads a key file of the data directory. Undefined when the file is missing. Throws UnusableFile. */
export function readTokenKeyFile(file: string): TokenSigningKey | undefined {
  const pem = readPrivateFile(file);
  if (pem === undefined) return undefined;
  try {
    return parseTokenSigningKey(pem);
  } catch (cause) {
    throw new UnusableFile(
      `${file}: ${messageOf(cause)}; restore it from a backup, or remove it: then a new key is made, and the tokens that it has ` +
        "signed are refused",
      { cause },
    );
  }
}
