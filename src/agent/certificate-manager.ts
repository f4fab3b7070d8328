import { ApiError } from "../machinery/api/api-error.ts";
import type { Clock } from "../machinery/api/clock.ts";
import type { Names } from "../machinery/api/names.ts";
import type { ApiClient } from "../machinery/client/api-client.ts";
import { backoffMilliseconds, unreachableBackoff } from "../machinery/loops/repetition.ts";
import type { Backoff, Sleep } from "../machinery/loops/repetition.ts";
import { serialNumberHex } from "../pki/certificate.ts";
import { failureText } from "./agent-log.ts";
import type { AgentLog } from "./agent-log.ts";
import { certificateState, nextStep, rotationPoint } from "./certificate-renewal.ts";
import type { CertificateState, RenewalStep } from "./certificate-renewal.ts";
import { readUsable } from "./certificate-store.ts";
import type { CertificateName, CertificateStore } from "./certificate-store.ts";
import type { KeyPair } from "./key-pair.ts";
import { requestCertificate, RequestRefused } from "./request-certificate.ts";
import type { WantedCertificate } from "./wanted-certificate.ts";
import { certificateSigningRequestResource } from "../features/certificates/resources.ts";

export interface CertificateManagerOptions {
  readonly name: CertificateName;
  readonly store: CertificateStore;
  readonly lifetimeSeconds: number | undefined;
  /** Whether the server does not accept a pair that it should. */
  readonly isRefused: (pair: KeyPair | undefined) => boolean;
  /** The client to ask with now; undefined: there is no credential to ask with. */
  readonly requestClient: () => ApiClient | undefined;
  /** The server's time. */
  readonly clock: Clock;
  /** A clock that is never set, for waits after failures. */
  readonly monotonic: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly sleep: Sleep;
  readonly log: AgentLog;
  readonly onInstalled: (pair: KeyPair) => void;
  readonly onFailed: () => void;
}

/** What was found out after the start. */
export interface CertificateWish {
  readonly names: Names;
  readonly wanted: WantedCertificate;
}

const askedMessages: Readonly<Record<CertificateName, string>> = {
  client: "asked for a certificate",
  serving: "asked for a certificate, which somebody or the server's approval policy must approve",
};

/** A request was denied, failed, or nobody decided on it: asking again soon would only bother people. */
const refusedBackoff: Backoff = { firstMilliseconds: 10_000, longestMilliseconds: 10 * 60_000 };

/** A clock may jump and a machine sleep: nothing is waited for longer without a look at the time. */
const longestSleepMilliseconds = 60_000;

/** Keeps one certificate: gets it, renews it in time, and never stops trying. The pair in use stays until the next one is. */
export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  #current: KeyPair | undefined;
  #wish: CertificateWish | undefined;
  #rotateAt = 0;
  #retryAt = 0;
  #failures = 0;
  #isRotationAsked = false;
  #wake = new AbortController();

  constructor(options: CertificateManagerOptions) {
    this.#options = options;
    const { store, log, name } = options;
    this.#take(
      readUsable(store, (fault) => log.warn({ certificate: name, fault }, "the kept certificate cannot be used")),
    );
  }

  /** The pair in use, perhaps expired. */
  get current(): KeyPair | undefined {
    return this.#current;
  }

  /** Says what the certificate must be; when that changes, another one is asked for. */
  want(wish: CertificateWish): void {
    this.#wish = wish;
    this.#wakeUp();
  }

  /** Asks for a new certificate now, whatever the time. */
  rotateNow(): void {
    this.#isRotationAsked = true;
    this.#retryAt = 0;
    this.#wakeUp();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const step = this.#nextStep();
      if (step.do === "request") await this.#request(AbortSignal.any([signal, this.#wake.signal]));
      else {
        const milliseconds = Math.min(longestSleepMilliseconds, step.milliseconds);
        await this.#options.sleep(milliseconds, AbortSignal.any([signal, this.#wake.signal]));
      }
    }
  }

  #nextStep(): RenewalStep {
    const { clock, monotonic } = this.#options;
    if (this.#wish === undefined) return { do: "wait", milliseconds: longestSleepMilliseconds };
    return nextStep({
      certificate: this.#state(this.#wish),
      dueInMilliseconds: this.#rotateAt - clock.now(),
      isRotationAsked: this.#isRotationAsked,
      hasPendingRequest: this.#options.store.pendingKey() !== undefined,
      retryInMilliseconds: Math.max(0, this.#retryAt - monotonic.now()),
    });
  }

  #state({ wanted }: CertificateWish): CertificateState {
    return certificateState({
      certificate: this.#current?.certificate,
      wanted,
      isRefused: this.#options.isRefused(this.#current),
      rotateAt: this.#rotateAt,
      now: this.#options.clock.now(),
    });
  }

  /** Aborting `signal` ends the wait; the request goes on, and the next call finds it by its key. */
  async #request(signal: AbortSignal): Promise<void> {
    const { name, store, requestClient, clock, log, lifetimeSeconds, sleep, onInstalled } = this.#options;
    const client = requestClient();
    const wish = this.#wish;
    if (wish === undefined) return;
    if (client === undefined) return this.#failed(new Error("there is no credential to ask for a certificate with"));
    const reason = this.#isRotationAsked ? "asked" : this.#state(wish);
    try {
      const pair = await requestCertificate(
        {
          ...wish,
          lifetimeSeconds,
          requests: client.resource(certificateSigningRequestResource(wish.names)),
          store,
          clock,
          sleep,
          onCreated: (request) => log.info({ certificate: name, request, reason }, askedMessages[name]),
        },
        signal,
      );
      store.install(pair, clock.now());
      this.#take(pair);
      this.#isRotationAsked = false;
      onInstalled(pair);
      const state = this.#state(wish);
      // A signer that gives what is due, or lacks names, must not be asked without a pause.
      if (state !== "current") throw new RequestRefused(`the signer issued a certificate that is ${state} already`);
      this.#failures = 0;
    } catch (error) {
      if (!signal.aborted) this.#failed(error);
    }
  }

  #take(pair: KeyPair | undefined): void {
    const { name, clock, log, random } = this.#options;
    this.#current = pair;
    if (pair === undefined) return;
    const { certificate } = pair;
    const { notBefore, notAfter } = certificate;
    this.#rotateAt = rotationPoint(certificate, random());
    const fields = {
      certificate: name,
      serialNumber: serialNumberHex(certificate),
      notAfter: new Date(notAfter).toISOString(),
      renewAt: new Date(this.#rotateAt).toISOString(),
    };
    if (clock.now() < notBefore) log.warn(fields, "this certificate is not valid yet: is the clock right?");
    else if (clock.now() > notAfter) log.warn(fields, "this certificate has expired");
    else log.info(fields, "this certificate is in use");
  }

  #failed(error: unknown): void {
    const { name, monotonic, log, random, onFailed } = this.#options;
    this.#failures++;
    const backoff = error instanceof RequestRefused ? refusedBackoff : unreachableBackoff;
    const wished = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    const wait = Math.max(wished, backoffMilliseconds(backoff, { failures: this.#failures, random: random() }));
    this.#retryAt = monotonic.now() + wait;
    log.warn(
      { certificate: name, failures: this.#failures, retryInSeconds: Math.ceil(wait / 1000) },
      `no new certificate: ${failureText(error)}`,
    );
    onFailed();
  }

  #wakeUp(): void {
    this.#wake.abort();
    this.#wake = new AbortController();
  }
}
