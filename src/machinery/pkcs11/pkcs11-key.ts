import { createHash, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { monotonicClock } from "../api/clock.ts";
import type { Clock } from "../api/clock.ts";
import { messageOf } from "../api/thrown-error.ts";
import { importPublicKey } from "../../pki/keys/public-key.ts";
import type { PublicKeyInfo } from "../../pki/keys/public-key.ts";
import { signatureSchemeFor } from "../../pki/keys/sign.ts";
import { KeyUnavailable } from "../../pki/keys/signing-key.ts";
import type { SigningKey } from "../../pki/keys/signing-key.ts";
import { ModuleTimeout } from "./module-messages.ts";
import { parsePkcs11Uri } from "./pkcs11-uri.ts";
import type { Pkcs11Uri } from "./pkcs11-uri.ts";
import { readPin, TokenSession, WrongPin } from "./token-session.ts";
import type { SessionOptions } from "./token-session.ts";

interface Pkcs11KeyOptions extends Partial<SessionOptions> {
  /** A monotonic clock. */
  readonly monotonic?: Clock;
}

interface KnownKeyOptions extends Pkcs11KeyOptions {
  readonly publicKey: PublicKeyInfo;
}

interface ProbeOptions extends Pkcs11KeyOptions {
  readonly publicKey?: PublicKeyInfo | undefined;
}

const defaultTimeoutMilliseconds = 5_000;
/** After a failure, signatures fail at once for this time, so that not every request uses a token that is missing. */
const pauseMilliseconds = 1_000;
/** A session that is not used for this time is closed. The next signature opens a new session. */
const idleMilliseconds = 5 * 60_000;
/** How many signatures may wait for their turn. */
const maximumWaiting = 1_000;
/** A signature that has waited longer for its turn is not made, because its request is about to end. */
const longestWaitMilliseconds = 30_000;
const anotherKey = "its signature is not one of the expected key: the token has another key of this name";
/** RFC 8017 section 9.2: the DigestInfo of a SHA-256. */
const sha256DigestInfo = Buffer.from("3031300d060960864801650304020105000420", "hex");

/**
 * A key in a token. Each key has one session in each process, which is opened when it is first needed, and again after it was lost. A
 * signature is returned only if the public key verifies it.
 */
export class Pkcs11Key implements SigningKey {
  readonly publicKey: PublicKeyInfo;
  readonly #uri: Pkcs11Uri;
  readonly #options: Partial<SessionOptions>;
  readonly #monotonic: Clock;
  readonly #verifier: KeyObject;
  #session: TokenSession | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #failed: { readonly at: number; readonly reason: string } | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;

  private constructor(uri: Pkcs11Uri, { publicKey, monotonic = monotonicClock, ...options }: KnownKeyOptions) {
    signatureSchemeFor(publicKey);
    this.publicKey = publicKey;
    this.#uri = uri;
    this.#options = options;
    this.#monotonic = monotonic;
    this.#verifier = importPublicKey(publicKey);
  }

  /** A key whose public key is known, such as the key of a CA. The token is first used for the first signature. Throws an Error. */
  static of(uri: string, options: KnownKeyOptions): Pkcs11Key {
    return new Pkcs11Key(parsePkcs11Uri(uri), options);
  }

  /** A key whose public key is read from the token. Rejects with an Error with the reason when the key can't be used. */
  static async open(text: string, options: Pkcs11KeyOptions = {}): Promise<Pkcs11Key> {
    const uri = parsePkcs11Uri(text);
    const session = await openSession(uri, options);
    try {
      const key = new Pkcs11Key(uri, { ...options, publicKey: await session.publicKey(uri) });
      key.#session = session;
      return key;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  /**
   * Makes a signature to check the key, and verifies it if the public key is known. Rejects with an Error with the reason when this fails.
   */
  static async probe(text: string, { publicKey, ...options }: ProbeOptions = {}): Promise<void> {
    const uri = parsePkcs11Uri(text);
    const key = publicKey && new Pkcs11Key(uri, { publicKey, ...options });
    const data = Buffer.from("signet probes the key");
    const session = await openSession(uri, options);
    try {
      if (key === undefined) await session.sign(createHash("sha256").update(data).digest());
      else if (!key.#hasSigned(data, await session.sign(key.#octetsOf(data)))) throw new Error(anotherKey);
    } finally {
      session.close();
    }
  }

  sign(data: Uint8Array): Promise<Buffer> {
    // After a failure, only one signature at a time tries the token again.
    if (this.#failed !== undefined && this.#waiting > 0) return Promise.reject(new KeyUnavailable(this.#failed.reason));
    if (this.#waiting >= maximumWaiting)
      return Promise.reject(new KeyUnavailable("too many signatures wait for the token"));
    this.#waiting += 1;
    const askedAt = this.#monotonic.now();
    const inTime = (): Promise<Buffer> => {
      if (this.#monotonic.now() - askedAt <= longestWaitMilliseconds) return this.#signNow(data);
      throw new KeyUnavailable("too many signatures wait for the token, which is slow");
    };
    const signed = this.#turn.then(inTime).finally(() => (this.#waiting -= 1));
    this.#turn = signed.catch(() => {});
    return signed;
  }

  /** Ends the session. Later signatures reject. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    this.#session?.close();
  }

  async #signNow(data: Uint8Array): Promise<Buffer> {
    if (this.#isClosed) throw new KeyUnavailable("the token is not used any more");
    const signature = await this.#inSession((session) => session.sign(this.#octetsOf(data)));
    this.#idle ??= setTimeout(() => this.#session?.close(), idleMilliseconds).unref();
    this.#idle.refresh();
    if (this.#hasSigned(data, signature)) {
      this.#failed = undefined;
      return signature;
    }
    // A new session searches for the key again; this session would keep using the key that it found before.
    this.#session?.close();
    throw this.#unavailable(anotherKey);
  }

  /** What the token signs for the data. */
  #octetsOf(data: Uint8Array): Buffer {
    const { hash } = signatureSchemeFor(this.publicKey);
    const digest = createHash(hash ?? "sha256")
      .update(data)
      .digest();
    return this.publicKey.algorithm === "RSA" ? Buffer.concat([sha256DigestInfo, digest]) : digest;
  }

  #hasSigned(data: Uint8Array, signature: Buffer): boolean {
    const { hash } = signatureSchemeFor(this.publicKey);
    return verify(hash, data, { key: this.#verifier, dsaEncoding: "ieee-p1363" }, signature);
  }

  /**
   * Calls `use` with a session. If the open session fails, tries again with a new one: the token may have been removed and inserted again.
   */
  async #inSession(use: (session: TokenSession) => Promise<Buffer>): Promise<Buffer> {
    if (this.#session?.isOpen === true) {
      try {
        return await use(this.#session);
      } catch (error) {
        this.#session.close();
        // A second try would take as long.
        if (error instanceof ModuleTimeout) throw this.#unavailable(error.message);
      }
    }
    try {
      return await use(await this.#open());
    } catch (error) {
      this.#session?.close();
      this.#session = undefined;
      throw error instanceof KeyUnavailable ? error : this.#unavailable(messageOf(error));
    }
  }

  async #open(): Promise<TokenSession> {
    const failed = this.#failed;
    if (failed !== undefined && this.#monotonic.now() - failed.at < pauseMilliseconds) {
      throw new KeyUnavailable(failed.reason);
    }
    this.#session = await openSession(this.#uri, this.#options);
    return this.#session;
  }

  #unavailable(reason: string): KeyUnavailable {
    this.#failed = { at: this.#monotonic.now(), reason: `the key in the token can't be used: ${reason}` };
    return new KeyUnavailable(this.#failed.reason);
  }
}

/**
 * Digests of the PINs that tokens have refused. All keys of the process share them, because each further try of a wrong PIN would bring the
 * token closer to being locked.
 */
const refusedPins = new Map<string, string>();

/**
 * Opens a session with the PIN of the URI's file. Rejects with an Error with the reason, also for a PIN that the token has refused before.
 */
async function openSession(uri: Pkcs11Uri, options: Partial<SessionOptions>): Promise<TokenSession> {
  const { modulePath, token, serial, manufacturer, model, slotId, pinFile } = uri;
  const pin = pinFile === undefined ? undefined : readPin(pinFile);
  const named = JSON.stringify([modulePath, token, serial, manufacturer, model, slotId]);
  const digest = createHash("sha256")
    .update(pin ?? "")
    .digest("base64");
  if (refusedPins.get(named) === digest) {
    throw new Error(
      `the token refused the PIN of ${pinFile ?? "no file"}: it is not tried again until the file changes`,
    );
  }
  try {
    const session = await TokenSession.open(uri, { pin, timeoutMilliseconds: defaultTimeoutMilliseconds, ...options });
    refusedPins.delete(named);
    return session;
  } catch (error) {
    if (error instanceof WrongPin) refusedPins.set(named, digest);
    throw error;
  }
}
