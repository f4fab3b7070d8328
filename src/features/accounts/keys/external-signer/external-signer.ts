import { isDeepStrictEqual } from "node:util";
import { serviceUnavailable } from "../../../../machinery/api/api-error.ts";
import { millisecondsSince } from "../../../../machinery/api/clock.ts";
import type { Clock } from "../../../../machinery/api/clock.ts";
import { shortened } from "../../../../machinery/api/text/format-value.ts";
import { OutageReport } from "../../../../machinery/logging/outage-report.ts";
import { rateLimitedReport } from "../../../../machinery/logging/rate-limited-report.ts";
import { GrpcError, grpcStatus, grpcStatusName } from "../../../../machinery/grpc/grpc-error.ts";
import { observedSignature } from "../../../../machinery/keys/outside-keys.ts";
import type { OutsideKeyObserver } from "../../../../machinery/keys/outside-keys.ts";
import { encodePayload } from "../../tokens/json-web-token.ts";
import type { TokenSigner } from "../token-keys.ts";
import type { FollowedOperatorKeys, OperatorKeys } from "../operator-keys.ts";
import { readHeader, readPublishedKeys, checkToken, SignerFault } from "./check-signer-answers.ts";
import type { SignerKeys } from "./check-signer-answers.ts";
import type { ExternalSignerClient } from "./external-signer-client.ts";
import type { Log } from "../../../../machinery/logging/log.ts";

interface ExternalSignerOptions {
  /** The path of the signer's socket. */
  readonly socket: string;
  readonly client: ExternalSignerClient;
  readonly clock: Clock;
  /** Resolves after a time in milliseconds. */
  readonly pause: (milliseconds: number) => Promise<unknown>;
  readonly log: Pick<Log, "info" | "error">;
  readonly observer: OutsideKeyObserver | undefined;
}

/** When to fetch the keys again after a failure (upstream: `fallbackRefreshDuration`). */
const failedPollMilliseconds = 10_000;
/** The shortest time between two fetches for unknown keys: any client can send tokens that name one, or request tokens. */
const shortestPollMilliseconds = 1_000;
/** After a timeout, one request at a time tries the signer again, and not before this time has passed. */
const pauseMilliseconds = 1_000;
/** Upstream's code for an answer without a usable signature. */
const refusedAnswer = "unknown-non-grpc";
/** The most characters of the keys' ids in a line of the log. */
const maximumKeysCharacters = 500;

/**
 * A program that signs the tokens and publishes the keys that verify them (upstream: `externaljwt/plugin`). While it does not answer, its
 * last keys stay in use, so that tokens stay valid. Stricter than upstream: a token is handed out only if one of the published keys
 * verifies it.
 */
export class ExternalSigner implements FollowedOperatorKeys, TokenSigner {
  readonly #options: ExternalSignerOptions;
  readonly #listeners = new Set<() => void>();
  #keys: OperatorKeys;
  #refreshSeconds: number;
  #polling: Promise<void> | undefined;
  /** A poll that is planned but has not begun: it will find every key that was made before it was requested. */
  #nextPoll: Promise<void> | undefined;
  #polledAt: number;
  readonly #signing: OutageReport;
  readonly #fetching: OutageReport;
  /** Limited, because a thousand keys may have ids of 1 KiB, and new ids at each poll. */
  readonly #reportOtherKeys = rateLimitedReport((keys: string, changes) =>
    this.#options.log.info(
      { keys: shortened(keys, maximumKeysCharacters), changes },
      "the external signer publishes other keys",
    ),
  );
  /** When the signer did not answer in time, in milliseconds since the epoch. Undefined: it has answered since. */
  #timedOutAt: number | undefined;
  #isProbing = false;

  private constructor(keys: SignerKeys, options: ExternalSignerOptions) {
    this.#options = options;
    const { socket, log } = options;
    const report = (failure: string): OutageReport =>
      new OutageReport({
        onFailure: (reason) => log.error({ socket, reason }, failure),
        onRecovery: () => log.info({ socket }, "the external signer works again"),
      });
    this.#signing = report("the external signer makes no tokens");
    this.#fetching = report("the keys of the external signer can't be read; the previous ones stay in use");
    this.#polledAt = options.clock.now();
    this.#refreshSeconds = keys.refreshSeconds;
    this.#keys = this.#operatorKeys(keys);
  }

  /** Reads the signer's keys. Rejects with GrpcError or SignerFault when it publishes no keys now. */
  static async open(options: ExternalSignerOptions): Promise<ExternalSigner> {
    return new ExternalSigner(await readPublishedKeys(await options.client.fetchKeys()), options);
  }

  current(): OperatorKeys {
    return this.#keys;
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Fetches the keys again if the key is unknown: the signer may have just made it, and another process may have got a token with it. */
  learn(kid: string): Promise<void> | undefined {
    return this.#knows(kid) ? undefined : this.#pollSoon();
  }

  /** Fetches the keys again, once for all waiting callers, but not sooner than a second after the last poll. Never rejects. */
  #pollSoon(): Promise<void> {
    return (this.#nextPoll ??= this.#pollNext());
  }

  async #pollNext(): Promise<void> {
    const { clock, pause } = this.#options;
    // The signer may have answered the present poll before it made the key.
    await this.#polling;
    const early = shortestPollMilliseconds - millisecondsSince(this.#polledAt, clock);
    if (early > 0) await pause(early);
    // A poll that began meanwhile is too early for callers who came after its beginning.
    await this.#polling;
    this.#nextPoll = undefined;
    await this.#poll();
  }

  /** Fetches the keys when the time that the signer named is over. Never rejects. */
  async pollWhenDue(): Promise<void> {
    const after = this.#fetching.reason !== undefined ? failedPollMilliseconds : this.#refreshSeconds * 1000;
    if (millisecondsSince(this.#polledAt, this.#options.clock) >= after) await this.#poll();
  }

  /** Returns a token with these claims. Rejects with a 503 when the signer does not answer in time, or its answer breaks the rules. */
  signToken(payload: object): Promise<string> {
    const { socket, observer } = this.#options;
    return observedSignature({ provider: "externaljwt", key: socket, observer }, () => this.#tryToSign(payload));
  }

  async #tryToSign(payload: object): Promise<string> {
    const { observer, clock } = this.#options;
    const isProbe = this.#timedOutAt !== undefined;
    if (this.#timedOutAt !== undefined) {
      if (this.#isProbing || millisecondsSince(this.#timedOutAt, clock) < pauseMilliseconds) throw notNow();
      this.#isProbing = true;
    }
    try {
      const token = await this.#sign(encodePayload(payload));
      observer?.onSignerSigned("OK");
      this.#timedOutAt = undefined;
      this.#signing.succeeded();
      return token;
    } catch (error) {
      observer?.onSignerSigned(error instanceof GrpcError ? grpcStatusName(error) : refusedAnswer);
      if (error instanceof GrpcError && error.code === grpcStatus.deadlineExceeded) this.#timedOutAt = clock.now();
      this.#signing.failed(error);
      throw notNow();
    } finally {
      if (isProbe) this.#isProbing = false;
    }
  }

  async #sign(claims: string): Promise<string> {
    const answer = await this.#options.client.sign(claims);
    const header = readHeader(answer);
    const token = `${answer.header}.${claims}.${answer.signature}`;
    const check = (): void => checkToken(token, { ...header, keys: this.#keys.verification });
    try {
      check();
    } catch (error) {
      if (!(error instanceof SignerFault)) throw error;
      // The signer may use a new key, perhaps under the id of an old one.
      await this.#pollSoon();
      check();
    }
    return token;
  }

  #knows(kid: string): boolean {
    return this.#keys.verification.some((key) => key.kid === kid);
  }

  /** Fetches the keys. Callers at the same time share one request. Never rejects. */
  #poll(): Promise<void> {
    this.#polling ??= this.#fetch()
      .then(
        () => this.#fetching.succeeded(),
        (error: unknown) => this.#fetching.failed(error),
      )
      .then(() => {
        this.#polledAt = this.#options.clock.now();
        this.#polling = undefined;
      });
    return this.#polling;
  }

  async #fetch(): Promise<void> {
    const fetched = await readPublishedKeys(await this.#options.client.fetchKeys());
    const before = this.#keys;
    const next = this.#operatorKeys(fetched);
    this.#refreshSeconds = fetched.refreshSeconds;
    const published = ({ verification, cacheSeconds }: OperatorKeys): unknown => [
      cacheSeconds,
      verification.map(({ jwk, isUnpublished }) => [jwk, isUnpublished]),
    ];
    if (isDeepStrictEqual(published(before), published(next))) return;
    this.#keys = next;
    this.#reportOtherKeys(next.verification.map(({ kid }) => kid).join(", "));
    for (const listener of this.#listeners) listener();
  }

  #operatorKeys({ keys, refreshSeconds }: SignerKeys): OperatorKeys {
    return {
      signing: { signer: this, record: { externalSigner: this.#options.socket } },
      verification: keys,
      cacheSeconds: refreshSeconds,
    };
  }
}

const notNow = (): Error =>
  serviceUnavailable("no token can be issued now: the external signer does not sign; the server's log says why");
