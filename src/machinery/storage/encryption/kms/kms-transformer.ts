import { createHash, randomBytes } from "node:crypto";
import { shortened } from "../../../api/text/format-value.ts";
import { messageOf } from "../../../api/thrown-error.ts";
import { millisecondsSince } from "../../../api/clock.ts";
import type { Clock } from "../../../api/clock.ts";
import { andThen } from "../../../api/maybe-promise.ts";
import type { MaybePromise } from "../../../api/maybe-promise.ts";
import { RecentlyUsed } from "../../../api/recently-used.ts";
import { OutageReport } from "../../../logging/outage-report.ts";
import { GrpcError, grpcStatus } from "../../../grpc/grpc-error.ts";
import { derivedGcm, gcm } from "../aes-gcm.ts";
import type { Cipher } from "../aes-gcm.ts";
import { KmsUnavailable, UndecryptableValue } from "../value-transformer.ts";
import type { DecryptedValue, ValueTransformer } from "../value-transformer.ts";
import type { KmsClient } from "./kms-client.ts";
import { decodeEncryptedObject, encodeEncryptedObject, keySource } from "./kms-messages.ts";
import type { EncryptedObject, WrappedKey } from "./kms-messages.ts";
import { checkKeyId, checkWrappedKey, digestOf } from "./wrapped-key.ts";
import type { DataKey } from "./wrapped-key.ts";

export interface KmsTransformerOptions {
  /** The provider's name, which is part of each value's prefix. */
  readonly name: string;
  readonly client: KmsClient;
  readonly clock: Clock;
  /** Called when the plugin has unwrapped a key that could not be unwrapped before. */
  readonly onReadable: () => void;
  /** Never with a secret. */
  readonly onEvent: (event: KmsEvent) => void;
}

export type KmsEvent =
  | { readonly type: "failed"; readonly reason: string }
  | { readonly type: "works again" }
  /** This process writes with a new seed, which the KMS has wrapped with this key. */
  | { readonly type: "key"; readonly keyId: string };

const seedBytes = 32;
/** Upstream's `envelopekmsv2PluginWriteDEKSourceMaxTTL`: after so long without a good status, writes fail. */
const writableMilliseconds = 3 * 60_000;
/** How often the plugin is asked for its status: upstream's `kmsv2PluginHealthzPositiveTTL` and `...NegativeTTL`. */
const healthyPollMilliseconds = 60_000;
const failedPollMilliseconds = 10_000;
/**
 * The shortest life of a seed. Otherwise a plugin that names another key in each status would cause a new seed each time, and readers need
 * every seed.
 */
const shortestSeedMilliseconds = 60_000;
/** For so long after a failed call, other calls of the plugin fail at once. */
const failFastMilliseconds = 1_000;
const maximumCachedKeys = 1_000;
/** After so many keys that fail again, a retry of the failed keys ends. */
const maximumRetryFailures = 20;

/** The gRPC codes of a plugin that could not be reached, or did not answer in time. */
const isTransient: ReadonlySet<number> = new Set([grpcStatus.unavailable, grpcStatus.deadlineExceeded]);

/**
 * The gRPC codes for a key that is lost, or not a key of this plugin. With other codes plugins report failures that may pass: a missing
 * permission, a disabled key, and with Internal and Unknown anything.
 */
const isLost: ReadonlySet<number> = new Set([grpcStatus.invalidArgument, grpcStatus.notFound, grpcStatus.dataLoss]);

interface EncryptedValue {
  readonly object: EncryptedObject;
  /** The digest of its data key. */
  readonly digest: string;
  readonly storageKey: string;
}

/** A data encryption key that the plugin has unwrapped, or that was made here. */
interface UnwrappedKey {
  readonly cipher: Cipher;
  /** The SHA-256 digest of the unwrapped key. */
  readonly fingerprint: string;
  /** Whether the key has decrypted a value. Until then it may be wrong: a plugin may answer with the key of another request. */
  isProven: boolean;
}

/** A key that could not be unwrapped, or not surely to the right key. */
interface FailedKey extends DataKey {
  /** The fingerprint of what the plugin has given twice, although it does not decrypt a value: that value was changed, or the plugin is wrong. */
  readonly doubtful?: string;
}

/** The key that values are encrypted with now. */
interface WritingKey {
  readonly wrappedKey: WrappedKey;
  readonly seed: Buffer;
  readonly cipher: Cipher;
  readonly madeAt: number;
  /** When the plugin last restored the seed. */
  restoredAt: number;
  /** The time of the last good status. */
  confirmedAt: number;
}

/**
 * Upstream's KMS v2 provider: this process makes a seed, the plugin wraps it, and each value has a key derived from the seed
 * (see `derivedGcm`). The plugin is called once for each seed, not for each value. Values with a cached seed can be read while the plugin
 * does not answer. When the KMS has a new key, this process makes a new seed.
 */
export class KmsTransformer implements ValueTransformer {
  readonly prefix: string;
  readonly #options: KmsTransformerOptions;
  readonly #outage = new OutageReport({
    onFailure: (reason) => this.#options.onEvent({ type: "failed", reason }),
    onRecovery: () => this.#options.onEvent({ type: "works again" }),
  });
  readonly #prefixBytes: Buffer;
  /** Unwrapped keys by digest. */
  readonly #keys = new RecentlyUsed<UnwrappedKey>({ maximumEntries: maximumCachedKeys });
  readonly #unwrapping = new Map<string, Promise<UnwrappedKey>>();
  /** By digest. */
  readonly #failedKeys = new Map<string, FailedKey>();
  #writing: WritingKey | undefined;
  #polling: Promise<void> | undefined;
  #statusAt = -Infinity;
  #regularPollAt = -Infinity;
  /** Why the last status was not good. */
  #failure: string | undefined;
  #unwrapFailedAt = -Infinity;
  /** Whether the plugin could not be reached to unwrap a key since the last `pollWhenDue`. */
  #wasUnreachable = false;
  /**
   * Whether the plugin did not answer in time. Until it answers again, only the retries of failed keys ask it for keys, and readers fail at
   * once: a reader that waits for a key makes the readers of every kind wait.
   */
  #hasTimedOut = false;
  /** The running retry of the failed keys. */
  #retrying: Promise<void> | undefined;
  /** Whether a key works again, and `onReadable` was not called for it yet. */
  #hasReadable = false;

  constructor(options: KmsTransformerOptions) {
    this.#options = options;
    this.prefix = `k8s:enc:kms:v2:${options.name}:`;
    this.#prefixBytes = Buffer.from(this.prefix);
  }

  async encrypt(plain: Buffer, storageKey: string): Promise<Buffer> {
    if (!this.#isWritable()) await this.#pollUnlessFailing();
    const writing = this.#writing;
    if (writing === undefined || !this.#isWritable()) throw new Error(this.#failureText());
    const encryptedData = Buffer.concat(writing.cipher.seal(plain, storageKey));
    const { wrappedKey } = writing;
    const object = encodeEncryptedObject({ encryptedData, wrappedKey, keySource: keySource.derivedAesGcmSeed });
    return Buffer.concat([this.#prefixBytes, object]);
  }

  decrypt(stored: Buffer, storageKey: string): MaybePromise<DecryptedValue> {
    const object = parseObject(stored.subarray(this.#prefixBytes.length));
    const digest = digestOf(object);
    const found = (plain: Buffer): DecryptedValue => ({
      plain,
      isStale:
        // Before the first good status, every value counts as stale: a write asks the plugin for its key.
        object.wrappedKey.keyId !== this.#writing?.wrappedKey.keyId || object.keySource !== keySource.derivedAesGcmSeed,
    });
    const key = this.#keys.get(digest) ?? this.#unwrapForReader(object, digest);
    const firstStatus = this.#statusAt === -Infinity ? this.#poll() : undefined;
    const opened = andThen(key, (unwrapped) => this.#open(unwrapped, { object, digest, storageKey }));
    return firstStatus === undefined
      ? andThen(opened, found)
      : Promise.all([opened, firstStatus]).then(([plain]) => found(plain));
  }

  /** Asks the plugin for its status when that is due, and then retries the keys that could not be unwrapped. Never rejects. */
  async pollWhenDue(): Promise<void> {
    const { clock } = this.#options;
    const isWell = this.#failure === undefined && !this.#wasUnreachable;
    // Counted from the last call of this function: health checks and writes ask for the status too, but retry no failed keys.
    if (millisecondsSince(this.#regularPollAt, clock) < (isWell ? healthyPollMilliseconds : failedPollMilliseconds))
      return;
    this.#regularPollAt = clock.now();
    await this.#poll();
    if (this.#failure !== undefined) return;
    this.#wasUnreachable = false;
    await this.#retryFailedKeys();
  }

  /** Rejects with KmsUnavailable unless the plugin gives a good status, or gave one a moment ago. */
  async check(): Promise<void> {
    await this.#pollUnlessFailing();
    if (this.#failure !== undefined) throw new KmsUnavailable(this.#failureText());
  }

  close(): void {
    this.#options.client.close();
  }

  #isWritable(): boolean {
    const { clock } = this.#options;
    return this.#writing !== undefined && millisecondsSince(this.#writing.confirmedAt, clock) < writableMilliseconds;
  }

  async #pollUnlessFailing(): Promise<void> {
    const isDue = millisecondsSince(this.#statusAt, this.#options.clock) >= failFastMilliseconds;
    if (isDue || this.#polling !== undefined) await this.#poll();
  }

  /** All callers share one poll. */
  #poll(): Promise<void> {
    this.#polling ??= this.#askStatus()
      .then(
        () => this.#succeeded(),
        (error: unknown) => this.#failed(error),
      )
      .finally(() => (this.#polling = undefined));
    return this.#polling;
  }

  async #askStatus(): Promise<void> {
    const { client, clock } = this.#options;
    const askedAt = clock.now();
    const { version, health, keyId } = await client.status();
    if (version !== "v2" && version !== "v2beta1") throw new Error(`it has version ${quoted(version)}, not v2`);
    if (health !== "ok") throw new Error(`it says of its health ${quoted(health)}, not ok`);
    checkKeyId(keyId);
    const writing = this.#writing;
    const isKept = writing?.wrappedKey.keyId === keyId || (writing !== undefined && this.#isYoung(writing));
    if (!isKept) {
      this.#writing = await this.#newKey(keyId, askedAt);
      return;
    }
    if (millisecondsSince(writing.restoredAt, clock) >= healthyPollMilliseconds) {
      await this.#checkRestores(writing, "the key that this process writes with");
      writing.restoredAt = askedAt;
    }
    writing.confirmedAt = askedAt;
  }

  #isYoung({ madeAt }: WritingKey): boolean {
    return millisecondsSince(madeAt, this.#options.clock) < shortestSeedMilliseconds;
  }

  async #newKey(keyId: string, askedAt: number): Promise<WritingKey> {
    const seed = randomBytes(seedBytes);
    const wrappedKey = await this.#options.client.encrypt(seed);
    checkWrappedKey(wrappedKey);
    // The answer is stored beside the values.
    const stored = [wrappedKey.ciphertext, ...wrappedKey.annotations.values()];
    if (stored.some((bytes) => bytes.includes(seed))) {
      throw new Error("it does not encrypt: its answer holds the key as it was sent");
    }
    if (wrappedKey.keyId !== keyId) {
      throw new Error("it has just changed its key: it encrypts with another one than its status names");
    }
    await this.#checkRestores({ wrappedKey, seed }, "what it has just encrypted");
    const key = { cipher: derivedGcm(seed), fingerprint: fingerprintOf(seed), isProven: true };
    this.#keys.set(digestOf({ wrappedKey, keySource: keySource.derivedAesGcmSeed }), key);
    this.#options.onEvent({ type: "key", keyId });
    return { wrappedKey, seed, cipher: key.cipher, madeAt: askedAt, restoredAt: askedAt, confirmedAt: askedAt };
  }

  /** After a restart, only the plugin can restore the seed. If it can't, all values with this seed would be lost. */
  async #checkRestores({ wrappedKey, seed }: Pick<WritingKey, "wrappedKey" | "seed">, what: string): Promise<void> {
    const fault = `it does not decrypt ${what}`;
    const restored = await this.#options.client.decrypt(wrappedKey).catch((cause: unknown) => {
      throw new Error(`${fault}: ${messageOf(cause)}`, { cause });
    });
    if (!restored.equals(seed)) throw new Error(fault);
  }

  #open(key: UnwrappedKey, value: EncryptedValue): MaybePromise<Buffer> {
    try {
      const plain = key.cipher.open(value.object.encryptedData, value.storageKey);
      if (!key.isProven) this.#failedKeys.delete(value.digest);
      key.isProven = true;
      return plain;
    } catch (error) {
      if (key.isProven) throw error;
      if (this.#failedKeys.get(value.digest)?.doubtful === key.fingerprint) throw this.#faultWith(error);
      return this.#openWithSecondAnswer(key, { ...value, error });
    }
  }

  /**
   * Asks the plugin for the key again. If it had mixed up its answers, the wrong key would stay cached, and every value of that key would
   * look changed until the next start.
   */
  async #openWithSecondAnswer(
    first: UnwrappedKey,
    { object, digest, storageKey, error }: EncryptedValue & { readonly error: unknown },
  ): Promise<Buffer> {
    this.#keys.delete(digest);
    const second = await this.#unwrap(object, digest);
    if (second.fingerprint === first.fingerprint) {
      if (second.isProven) throw error;
      this.#keepFailed({ ...object, doubtful: second.fingerprint }, digest);
      await this.#pollUnlessFailing();
      throw this.#faultWith(error);
    }
    try {
      const plain = second.cipher.open(object.encryptedData, storageKey);
      second.isProven = true;
      return plain;
    } catch {
      this.#keys.delete(digest);
      this.#keepFailed(object, digest);
      throw this.#unavailable("it answers with another key each time");
    }
  }

  /** The error for a value that its key does not decrypt. A plugin that fails its check may have given a wrong key, and later the right one. */
  #faultWith(error: unknown): unknown {
    return this.#failure === undefined ? error : this.#unavailable(this.#failure);
  }

  #unwrapForReader(key: DataKey, digest: string): Promise<UnwrappedKey> {
    if (!this.#hasTimedOut) return this.#unwrap(key, digest);
    this.#keepFailed(key, digest);
    throw this.#unavailable("it did not answer");
  }

  #keepFailed({ wrappedKey, keySource: source, doubtful }: FailedKey, digest: string): void {
    if (this.#failedKeys.size >= maximumCachedKeys) return;
    this.#failedKeys.set(digest, { wrappedKey, keySource: source, ...(doubtful !== undefined && { doubtful }) });
  }

  #unwrap(key: DataKey, digest: string): Promise<UnwrappedKey> {
    const running = this.#unwrapping.get(digest);
    if (running !== undefined) return running;
    const started = this.#askKey(key)
      .then(
        (unwrapped) => {
          this.#keys.set(digest, unwrapped);
          const isNew = this.#failedKeys.get(digest)?.doubtful !== unwrapped.fingerprint;
          if (isNew && this.#failedKeys.delete(digest)) this.#reportReadable();
          return unwrapped;
        },
        (error: unknown) => {
          this.#keepFailed(key, digest);
          throw error;
        },
      )
      .finally(() => this.#unwrapping.delete(digest));
    this.#unwrapping.set(digest, started);
    return started;
  }

  async #askKey({ wrappedKey, keySource: source }: DataKey): Promise<UnwrappedKey> {
    const { client, clock, name } = this.#options;
    if (millisecondsSince(this.#unwrapFailedAt, clock) < failFastMilliseconds)
      throw this.#unavailable("it failed a moment ago");
    let key: Buffer;
    try {
      key = await client.decrypt(wrappedKey);
      this.#hasTimedOut = false;
    } catch (error) {
      this.#hasTimedOut = error instanceof GrpcError && error.code === grpcStatus.deadlineExceeded;
      const unavailable = this.#unavailable(messageOf(error));
      if (error instanceof GrpcError && isLost.has(error.code)) throw new UndecryptableValue(unavailable.message);
      // The plugin answers, so it may unwrap other keys.
      if (error instanceof GrpcError && !isTransient.has(error.code)) throw unavailable;
      this.#wasUnreachable = true;
      this.#unwrapFailedAt = clock.now();
      throw unavailable;
    }
    const unwrapped = (cipher: Cipher) => ({ cipher, fingerprint: fingerprintOf(key), isProven: false });
    if (source === keySource.derivedAesGcmSeed && key.length >= seedBytes) return unwrapped(derivedGcm(key));
    if (source === keySource.aesGcmKey && [16, 24, 32].includes(key.length)) return unwrapped(gcm(key));
    // A fault of the plugin, which may pass, so the value is not lost.
    throw new KmsUnavailable(`the KMS plugin ${name} decrypted its key to something that is not a key`);
  }

  /** All callers share one retry. */
  #retryFailedKeys(): Promise<void> {
    this.#retrying ??= this.#askFailedKeys().finally(() => {
      this.#retrying = undefined;
      if (this.#hasReadable) this.#reportReadable();
    });
    return this.#retrying;
  }

  async #askFailedKeys(): Promise<void> {
    let failures = 0;
    for (const [digest, key] of [...this.#failedKeys]) {
      await this.#unwrap(key, digest).catch(() => {});
      if (this.#failedKeys.delete(digest)) {
        failures += 1;
        // Moves the key to the end, so that each failed key gets its turn.
        this.#failedKeys.set(digest, key);
      }
      // The remaining keys come first at the next retry. Now they would fail too, and a single bad key must not block them for ever.
      if (this.#hasTimedOut || failures === maximumRetryFailures) break;
    }
  }

  /** Reports that a key works again, with which other values may be encrypted. During a retry of all failed keys, only once at its end. */
  #reportReadable(): void {
    this.#hasReadable = this.#retrying !== undefined;
    if (!this.#hasReadable) this.#options.onReadable();
  }

  #succeeded(): void {
    this.#statusAt = this.#options.clock.now();
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#outage.succeeded();
    // Now, because the next `pollWhenDue` may be a minute away.
    if (this.#failedKeys.size > 0) void this.#retryFailedKeys();
  }

  #failed(error: unknown): void {
    const isNew = this.#failure === undefined;
    this.#failure = messageOf(error);
    this.#statusAt = this.#options.clock.now();
    if (isNew) this.#outage.failed(error);
  }

  #unavailable(reason: string): KmsUnavailable {
    return new KmsUnavailable(`the KMS plugin ${this.#options.name} does not decrypt its key: ${reason}`);
  }

  #failureText(): string {
    return `the KMS plugin ${this.#options.name} does not work now: ${this.#failure ?? "it was not asked yet"}`;
  }
}

/** Throws UndecryptableValue for bytes that no plugin can have made. */
function parseObject(stored: Buffer): EncryptedObject {
  try {
    const object = decodeEncryptedObject(stored);
    checkWrappedKey(object.wrappedKey);
    if (object.encryptedData.length > 0) return object;
  } catch {
    // The throw below reports it.
  }
  throw new UndecryptableValue("it was cut or changed: it is not what a KMS provider writes");
}

const fingerprintOf = (key: Buffer): string => createHash("sha256").update(key).digest("base64");

const quoted = (text: string): string => JSON.stringify(shortened(text, 200));
