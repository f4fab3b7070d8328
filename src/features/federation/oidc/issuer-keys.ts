import { isDeepStrictEqual } from "node:util";
import { isHttpsUrl } from "../../../machinery/api/addresses/is-https-url.ts";
import { WaitingTokens } from "../../../machinery/authentication/waiting-tokens.ts";
import { jsonFields } from "../../../machinery/api/json/json-object.ts";
import { millisecondsSince } from "../../../machinery/api/clock.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import { OutageReport } from "../../../machinery/logging/outage-report.ts";
import type { SharePath } from "../../../machinery/scheduling/share-path.ts";
import type { FetchDocument } from "./fetch-document.ts";
import { parseIssuerKey } from "./issuer-key.ts";
import type { IssuerKey, JwsAlgorithm } from "./issuer-key.ts";
import type { Log } from "../../../machinery/logging/log.ts";

/** The longest pause between two attempts. The pause doubles with each failure. */
const longestRetryMilliseconds = 10_000;
/** The shortest time between two attempts: anybody can send tokens that name unknown keys. */
const shortestMilliseconds = 1_000;
const minimumAgeMilliseconds = 60_000;
const defaultAgeMilliseconds = 10 * 60_000;
const maximumAgeMilliseconds = 60 * 60_000;
/** How long the keys of an unreachable issuer stay in use. */
const longestOutageMilliseconds = 24 * 60 * 60_000;
const tooMany = "Too many requests wait for the keys of an issuer, please try again later.";
const maximumKeys = 64;

interface FetchedKeys {
  readonly keys: readonly IssuerKey[];
  readonly at: number;
}

interface IssuerKeysOptions {
  readonly issuer: Issuer;
  /** The keys of the same issuer with other CAs. They are used if the first attempt fails, as if nothing had changed. */
  readonly previous?: IssuerKeys | undefined;
  readonly fetch: FetchDocument;
  readonly clock: Clock;
  /** Resolves after a time in milliseconds. */
  readonly pause: (milliseconds: number) => Promise<unknown>;
  readonly log: Pick<Log, "info" | "warn">;
}

/**
 * The keys of one issuer, by OpenID Connect discovery. They are fetched in the background: at the start until the first success, and again
 * when they have aged. A token waits for an attempt only if its key is unknown, or before the end of the first attempt. There is at most
 * one attempt in a second, and fewer after failures: the time between two attempts doubles up to ten seconds.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  readonly #closing = new AbortController();
  readonly #outage = new OutageReport({
    onFailure: (reason) => this.#logFailure(reason),
    onRecovery: () => this.#logKeys(),
  });
  #keys: readonly IssuerKey[] | undefined;
  #keysUrl: string | undefined;
  /** The key set document from which the keys were read. */
  #keySet: unknown;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  /** The pause before the next attempt. 0 after a successful attempt. */
  #retryMilliseconds = 0;
  #ageMilliseconds = defaultAgeMilliseconds;
  #attempt: Promise<void> | undefined;
  /** An attempt that is planned but has not begun: it will find every key that was made before it was requested. */
  #nextAttempt: Promise<void> | undefined;
  readonly #waiting = new WaitingTokens(tooMany);
  readonly #previous: FetchedKeys | undefined;

  constructor({ previous, ...options }: IssuerKeysOptions) {
    this.#options = options;
    this.#previous = previous?.fetched;
  }

  get issuer(): Issuer {
    return this.#options.issuer;
  }

  /** The newest keys and the time of their fetch. Until the first attempt has ended, the keys of `previous`. */
  get fetched(): FetchedKeys | undefined {
    return this.#keys === undefined ? this.#previous : { keys: this.#keys, at: this.#fetchedAt };
  }

  /** Whether the first attempt has not ended, so that nothing is known of the issuer yet. */
  get isFirstAttempt(): boolean {
    return this.#keys === undefined && this.#outage.reason === undefined;
  }

  /**
   * The keys that may be used now. Starts an attempt in the background if they have aged. Undefined: none were fetched yet, or the issuer
   * has been unreachable for too long.
   */
  current(): readonly IssuerKey[] | undefined {
    const age = millisecondsSince(this.#fetchedAt, this.#options.clock);
    if (this.#keys === undefined || age >= this.#ageMilliseconds) void this.#fetchNow();
    return age < longestOutageMilliseconds ? this.#keys : undefined;
  }

  /**
   * Fetches the keys for a token whose key is unknown, as soon as an attempt is allowed: the issuer may have just made the key. If
   * `isKnown` is true after the present attempt, no new attempt is made. Rejects with a 429 ApiError when too many tokens wait, in all or
   * of this asker.
   */
  refresh({ asker, isKnown }: { readonly asker: SharePath; readonly isKnown: () => boolean }): Promise<void> {
    return this.#waiting.wait(asker, async () => {
      if (this.#attempt !== undefined) {
        await this.#attempt;
        // The issuer may have answered this attempt before it made the key.
        if (isKnown()) return;
      }
      await (this.#nextAttempt ??= this.#fetchNext());
    });
  }

  close(): void {
    this.#closing.abort();
  }

  async #fetchNext(): Promise<void> {
    const early = shortestMilliseconds - millisecondsSince(this.#attemptedAt, this.#options.clock);
    await (early > 0 && this.#isPauseOver ? this.#options.pause(early) : undefined);
    this.#nextAttempt = undefined;
    await this.#fetchNow();
  }

  /** Whether the pause after the last failure is over. False after `close`. */
  get #isPauseOver(): boolean {
    const sinceAttempt = millisecondsSince(this.#attemptedAt, this.#options.clock);
    return sinceAttempt >= this.#retryMilliseconds && !this.#closing.signal.aborted;
  }

  #fetchNow(): Promise<void> {
    if (this.#attempt !== undefined) return this.#attempt;
    if (!this.#isPauseOver) return Promise.resolve();
    const { clock } = this.#options;
    this.#attemptedAt = clock.now();
    this.#attempt = this.#fetch()
      .catch((error: unknown) => {
        if (this.#closing.signal.aborted) return;
        if (this.#keys === undefined) this.#usePrevious();
        this.#outage.failed(error);
        this.#retryMilliseconds = Math.min(
          Math.max(2 * this.#retryMilliseconds, shortestMilliseconds),
          longestRetryMilliseconds,
        );
      })
      .finally(() => {
        this.#attempt = undefined;
      });
    return this.#attempt;
  }

  #usePrevious(): void {
    this.#keys = this.#previous?.keys;
    this.#fetchedAt = this.#previous?.at ?? Number.NEGATIVE_INFINITY;
    // Fetch the keys again as soon as an attempt is allowed.
    this.#ageMilliseconds = 0;
  }

  async #fetch(): Promise<void> {
    const { issuer, fetch, clock } = this.#options;
    const { certificateAuthority } = issuer;
    const options = { certificateAuthority, signal: this.#closing.signal };
    const discovered = await fetch(issuer.discoveryUrl ?? documentUrl(issuer.url), options);
    this.#keysUrl = keysUrlOf(discovered.value, issuer.url);
    const { value, maximumAgeMilliseconds: age = defaultAgeMilliseconds } = await fetch(this.#keysUrl, options);
    const isFirst = this.isFirstAttempt;
    // Unchanged keys stay the same list, so that tokens are not checked again with the same keys.
    if (this.#keys === undefined || !isDeepStrictEqual(value, this.#keySet)) this.#keys = keysOf(value, this.#keysUrl);
    this.#keySet = value;
    this.#ageMilliseconds = Math.min(Math.max(age, minimumAgeMilliseconds), maximumAgeMilliseconds);
    this.#fetchedAt = clock.now();
    if (this.#keys.length === 0) throw new Error(`${this.#keysUrl}: it has no key that can verify tokens`);
    if (isFirst) this.#logKeys();
    this.#retryMilliseconds = 0;
    this.#outage.succeeded();
  }

  #logKeys(): void {
    const { issuer, log } = this.#options;
    log.info({ issuer: issuer.url, keys: this.#keys?.length }, "the issuer's keys are there");
  }

  #logFailure(reason: string): void {
    const { issuer, log } = this.#options;
    // An empty key set counts: an issuer may withdraw all its keys, which are then not "last keys".
    const hasKeys = this.#keys !== undefined && this.#keys.length > 0;
    const consequence = hasKeys ? "its last keys stay in use for a day at most" : "its tokens are refused";
    log.warn({ issuer: issuer.url, error: reason }, `cannot get the issuer's keys, will try again; ${consequence}`);
  }
}

/** The URL of an issuer's document (OpenID Connect Discovery section 4). */
const documentUrl = (issuer: string): string => `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;

function keysUrlOf(document: unknown, issuer: string): string {
  const { issuer: named, jwks_uri: url } = jsonFields(document);
  if (named === undefined) {
    throw new Error("the issuer's document names no issuer: correct issuer.url or issuer.discoveryURL");
  }
  if (named !== issuer) {
    throw new Error(`the issuer's document is that of another issuer, ${JSON.stringify(named)}: correct issuer.url`);
  }
  if (typeof url !== "string" || !isHttpsUrl(url)) {
    throw new Error("the issuer's document names no https URL as jwks_uri");
  }
  return url;
}

function keysOf(document: unknown, url: string): IssuerKey[] {
  const { keys } = jsonFields(document);
  if (!Array.isArray(keys)) throw new Error(`${url}: its answer is not a JSON Web Key Set`);
  if (keys.length > maximumKeys) throw new Error(`${url}: it has more than ${maximumKeys} keys`);
  return keys.map(parseIssuerKey).filter((key) => key !== undefined);
}

/** A trusted issuer, as configured. */
export interface Issuer {
  /** The claim `iss`. Also the base URL of the issuer's document, unless `discoveryUrl` is set. */
  readonly url: string;
  readonly discoveryUrl: string | undefined;
  /** PEM of the CAs of the issuer's server. Undefined: the system's. */
  readonly certificateAuthority: string | undefined;
  /** A token must be for one of these audiences. */
  readonly audiences: readonly string[];
  /** The allowed algorithms. Undefined: every known algorithm. */
  readonly algorithms: readonly JwsAlgorithm[] | undefined;
}
