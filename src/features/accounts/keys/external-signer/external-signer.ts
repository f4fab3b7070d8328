import { isDeepStrictEqual } from "node:util";
import { serviceUnavailable } from "../../../../machinery/api/api-error.ts";
import { millisecondsSince } from "../../../../machinery/api/clock.ts";
import type { Clock } from "../../../../machinery/api/clock.ts";
import { shortened } from "../../../../machinery/api/format-value.ts";
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

export interface ExternalSignerOptions {
  /** Where it listens. */
  readonly socket: string;
  readonly client: ExternalSignerClient;
  readonly clock: Clock;
  /** Resolves after a time in milliseconds. */
  readonly pause: (milliseconds: number) => Promise<unknown>;
  readonly log: Pick<Log, "info" | "error">;
  readonly observer: OutsideKeyObserver | undefined;
}

/** Upstream's `fallbackRefreshDuration`: when to ask again after a failure. */
const failedPollMilliseconds = 10_000;
/** The shortest time between two look-ups of unknown keys: any client can send tokens that name one, or ask for tokens. */
const shortestPollMilliseconds = 1_000;
/** After a timeout, one request at a time tries the signer again, and not before this time has passed. */
const pauseMilliseconds = 1_000;
/** Upstream's code of a request that was answered, but not with a signature that can be used. */
const refusedAnswer = "unknown-non-grpc";
/** How much of the keys' ids a line of the log shows. */
const maximumKeysCharacters = 500;

/**
 * A program that signs the tokens and publishes the keys that verify them (upstream: `externaljwt/plugin`). While it is
 * away, its last keys stay in use, so that tokens stay valid. Stricter than upstream: a token is handed out only if one of
 * the published keys verifies it.
 */
export class ExternalSigner implements FollowedOperatorKeys, TokenSigner {
  readonly #options: ExternalSignerOptions;
  readonly #listeners = new Set<() => void>();
  #keys: OperatorKeys;
  #refreshSeconds: number;
  #polling: Promise<void> | undefined;
  /** A look that has not begun yet: it finds every key that was made before it was asked for. */
  #nextPoll: Promise<void> | undefined;
  #polledAt: number;
  readonly #signing: OutageReport;
  readonly #fetching: OutageReport;
  /** A thousand keys may have ids of 1 KiB, and others at each look. */
  readonly #reportOtherKeys = rateLimitedReport((keys: string, changes) =>
    this.#options.log.info(
      { keys: shortened(keys, maximumKeysCharacters), changes },
      "the external signer publishes other keys",
    ),
  );
  /** Since when the signer has been silent. */
  #silentAt = -Infinity;
  #isSilent = false;
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

  /** Rejects with GrpcError or SignerFault when the signer publishes no keys now. */
  static async open(options: ExternalSignerOptions): Promise<ExternalSigner> {
    return new ExternalSigner(await readPublishedKeys(await options.client.fetchKeys()), options);
  }

  current(): OperatorKeys {
    return this.#keys;
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Fetches the keys again if this one is unknown: the signer may have just made it, and another process a token with it. */
  learn(kid: string): Promise<void> | undefined {
    return this.#knows(kid) ? undefined : this.#pollSoon();
  }

  /** Fetches the keys again, once for all who wait, as soon as that is not too soon. Never rejects. */
  #pollSoon(): Promise<void> {
    return (this.#nextPoll ??= this.#pollNext());
  }

  async #pollNext(): Promise<void> {
    const { clock, pause } = this.#options;
    // It may have been answered before the key was made.
    await this.#polling;
    const early = shortestPollMilliseconds - millisecondsSince(this.#polledAt, clock);
    if (early > 0) await pause(early);
    // A poll that began meanwhile is too early for callers who came after its beginning.
    await this.#polling;
    this.#nextPoll = undefined;
    await this.#poll();
  }

  /** Fetches the keys when the time that the signer gave is over. Never rejects. */
  async pollWhenDue(): Promise<void> {
    const after = this.#fetching.reason !== undefined ? failedPollMilliseconds : this.#refreshSeconds * 1000;
    if (millisecondsSince(this.#polledAt, this.#options.clock) >= after) await this.#poll();
  }

  /** Rejects with a 503 when the signer does not answer in time, or its answer breaks the rules. */
  signToken(payload: object): Promise<string> {
    const { socket, observer } = this.#options;
    return observedSignature({ provider: "externaljwt", key: socket, observer }, () => this.#tryToSign(payload));
  }

  async #tryToSign(payload: object): Promise<string> {
    const isPausing = this.#isProbing || millisecondsSince(this.#silentAt, this.#options.clock) < pauseMilliseconds;
    if (this.#isSilent && isPausing) throw notNow();
    const isProbe = this.#isSilent;
    if (isProbe) this.#isProbing = true;
    const { observer } = this.#options;
    try {
      const token = await this.#sign(encodePayload(payload));
      observer?.onSignerSigned("OK");
      this.#isSilent = false;
      this.#signing.succeeded();
      return token;
    } catch (error) {
      observer?.onSignerSigned(error instanceof GrpcError ? grpcStatusName(error) : refusedAnswer);
      if (error instanceof GrpcError && error.code === grpcStatus.deadlineExceeded) {
        this.#isSilent = true;
        this.#silentAt = this.#options.clock.now();
      }
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
      // It may sign with a new key, perhaps under the id of an old one.
      await this.#pollSoon();
      check();
    }
    return token;
  }

  #knows(kid: string): boolean {
    return this.#keys.verification.some((key) => key.kid === kid);
  }

  /** Callers at the same time share one request. Never rejects. */
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
