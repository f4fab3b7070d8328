import type { CertificateSigningRequest } from "../../features/certificates/resources.ts";
import { certificateRequestState, certificateSigningRequestResource } from "../../features/certificates/resources.ts";
import { requestedPauseMilliseconds } from "../../machinery/api/api-error.ts";
import type { Clock, Sleep } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import { unreachableBackoff } from "../../machinery/loops/backoff.ts";
import type { Backoff } from "../../machinery/loops/backoff.ts";
import { WakeSignal } from "../../machinery/scheduling/wake-signal.ts";
import { traced } from "../../machinery/tracing/loop-trace.ts";
import { approvalAdvice } from "./approval-advice.ts";
import { FailureLog } from "../failure-log.ts";
import { failureReason } from "../failure-reason.ts";
import { issuedFault, nextStep, replacementFault } from "./certificate-renewal.ts";
import type { CertificateState, RenewalStep, RequestCause } from "./certificate-renewal.ts";
import type { KeyPair } from "./key-pair.ts";
import { PairInUse } from "./pair-in-use.ts";
import type { PairInUseOptions } from "./pair-in-use.ts";
import { requestCertificate, RequestRefused } from "./request-certificate.ts";
import { LongWork } from "../../machinery/scheduling/long-work.ts";
import { RetryPause } from "./retry-pause.ts";
import type { WantedCertificate } from "./wanted-certificate.ts";

export interface CertificateManagerOptions extends PairInUseOptions {
  readonly requestPrefix: string;
  /** The client to request with now; undefined: there is no credential. */
  readonly requestClient: () => ApiClient | undefined;
  /** A monotonic clock, for waits after failures. */
  readonly monotonic: Clock;
  readonly sleep: Sleep;
  readonly onInstalled: (pair: KeyPair) => void;
  /** Called with the reason why there is no new certificate. The manager tries again. */
  readonly onFailed: (error: unknown) => void;
}

/** What the certificate must be. Known only after the server has answered. */
interface CertificateSpecification {
  readonly names: Names;
  readonly wanted: WantedCertificate;
}

/** The state of a certificate, for people. Times are milliseconds since the epoch. */
export interface CertificateReport {
  readonly name: string;
  readonly state: CertificateState | "unknown";
  readonly notAfter: number | undefined;
  readonly renewAt: number | undefined;
  /** Why there is no new certificate, after the last try. Undefined also while none is wanted. */
  readonly failure: string | undefined;
  /** The request that waits for approval or issuance. */
  readonly pendingRequest: string | undefined;
  /** The signer of that request. Undefined: nothing is wanted yet. */
  readonly signerName: string | undefined;
  /** Whether somebody asked for a new certificate, and neither the certificate nor its key exists yet. */
  readonly isRenewalRequested: boolean;
  /** How long a renewal on request still waits, because another one was just before it. Undefined: none waits. */
  readonly renewalWaitMilliseconds: number | undefined;
  /** Whether there is a key, or a demand for one, whose certificate was not issued yet. */
  readonly isUnfinished: boolean;
}

/** For a request that was denied or failed, or whose certificate cannot be used: a new request can succeed only after people have acted. */
const refusedBackoff: Backoff = { firstMilliseconds: 10_000, longestMilliseconds: 10 * 60_000 };

/** The server may ask for a pause, but the certificate in use must not expire in it. */
const longestRequestedPauseMilliseconds = refusedBackoff.longestMilliseconds;

/** The clock may be set and the machine may sleep, so look at the time at least this often. */
const longestSleepMilliseconds = 60_000;

/** Obtains one certificate, renews it in time, and never stops trying. The pair in use stays in use until the next pair is installed. */
export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  readonly #inUse: PairInUse;
  #specification: CertificateSpecification | undefined;
  readonly #failureLog: FailureLog;
  readonly #pause: RetryPause;
  /**
   * The pause after a renewal on request, before the next one of a certificate that is good. It grows until the certificate is renewed for
   * another reason.
   */
  readonly #renewalPause: RetryPause;
  #failure: string | undefined;
  /** Whether the last request was denied or failed. The log names that request, and will name the next one. */
  #wasRefused = false;
  #pendingRequest: string | undefined;
  /** `asked`: somebody asked for a new certificate. `begun`: the request has begun, and earlier keys were forgotten for it. */
  #renewal: "asked" | "begun" | undefined;
  readonly #wake = new WakeSignal();
  /** Ends a sleep, but not a running request. */
  readonly #check = new WakeSignal();

  constructor(options: CertificateManagerOptions) {
    this.#options = options;
    this.#failureLog = new FailureLog({ ...options, failure: "no new certificate" });
    this.#pause = new RetryPause(options);
    this.#renewalPause = new RetryPause(options);
    options.store.forgetUsedKey();
    this.#inUse = new PairInUse(options);
  }

  /** The pair in use; it may have expired. */
  get current(): KeyPair | undefined {
    return this.#inUse.pair;
  }

  get status(): CertificateReport {
    const { name } = this.#options;
    const state = this.#state;
    const isUnfinished = this.#hasPendingKey;
    // A certificate may be current again without a new one: the server's clock was corrected, or its names are wanted again.
    const isNewWanted = state !== "current" || this.#renewal !== undefined || isUnfinished;
    return {
      name,
      state,
      notAfter: this.current?.certificate.notAfter,
      renewAt: this.current && this.#inUse.dueAt,
      failure: isNewWanted ? this.#failure : undefined,
      pendingRequest: this.#pendingRequest,
      signerName: this.#specification?.wanted.signerName,
      isRenewalRequested:
        this.#renewal === "asked" || (this.#renewal === "begun" && (this.#options.store.pendingKey() ?? "") === ""),
      renewalWaitMilliseconds: this.#renewalWaitMilliseconds,
      isUnfinished,
    };
  }

  /** Says what the certificate must contain. A change requests a new certificate. */
  specify(specification: CertificateSpecification): void {
    const isSame = JSON.stringify(specification.wanted) === JSON.stringify(this.#specification?.wanted);
    if (isSame) return;
    this.#specification = specification;
    this.#wake.wake();
  }

  /**
   * The signer asks for the renewal of the certificates that it issued before this time, in milliseconds since the epoch. Each of them is
   * renewed once, at its own time in the half hour that begins six minutes after that time.
   */
  recall(issuedBefore: number): void {
    if (this.#inUse.recall(issuedBefore)) this.#check.wake();
  }

  /** Replaces a pair that the server says is revoked: requests a new certificate now, with a new key. */
  revoked(pair: KeyPair): void {
    if (!this.#inUse.revoke(pair)) return;
    this.#wake.wake();
    this.#giveUpKey();
  }

  /** Checks the state of the certificate now, because the server may have refused it since the last check. */
  check(): void {
    this.#check.wake();
  }

  /**
   * Requests a new certificate now, with a new key: the key of a waiting request may have leaked too. Soon after another renewal on request,
   * it first waits: a hook that asks for the renewal of its own certificate would otherwise do so without end.
   */
  renewNow(): void {
    const { name, log } = this.#options;
    this.#pause.end();
    this.#wake.wake();
    this.#demandNewKey();
    const wait = this.#renewalWaitMilliseconds;
    if (wait !== undefined) {
      log.warn(
        { certificate: name, retryInSeconds: Math.ceil(wait / 1000) },
        "this certificate was renewed on request just now, and is renewed again after a pause: does its own hook ask for that?",
      );
    }
  }

  /** Writes the pair in use again when somebody has removed its file. Throws UnusableFile when that fails. */
  restore(): void {
    if (this.#specification !== undefined) this.#inUse.restore(this.#specification.wanted);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#wake.renew();
      this.#check.renew();
      const step = this.#nextStep();
      if (step.do === "request") {
        const either = this.#wake.or(signal);
        const request = traced("certificate", () => this.#request(step.cause, either));
        await request(this.#options.name).catch((error: unknown) => this.#fail(error));
      } else {
        const milliseconds = Math.min(longestSleepMilliseconds, step.milliseconds);
        await this.#options.sleep(milliseconds, this.#check.or(this.#wake.or(signal)));
      }
    }
  }

  #nextStep(): RenewalStep {
    const certificate = this.#state;
    if (certificate === "unknown") return { do: "wait", milliseconds: longestSleepMilliseconds };
    return nextStep({
      certificate,
      dueInMilliseconds: this.#dueInMilliseconds,
      isRenewalRequested: this.#renewal !== undefined,
      hasPendingRequest: this.#hasPendingKey,
      retryInMilliseconds: Math.max(this.#pause.leftMilliseconds, this.#renewalWaitMilliseconds ?? 0),
    });
  }

  /** Unknown: it is not known yet which certificate is wanted. */
  get #state(): CertificateState | "unknown" {
    return this.#specification === undefined ? "unknown" : this.#inUse.stateFor(this.#specification.wanted);
  }

  get #dueInMilliseconds(): number {
    return this.#inUse.dueAt - this.#options.clock.now();
  }

  /** A certificate that must be replaced for another reason does not wait. */
  get #renewalWaitMilliseconds(): number | undefined {
    if (this.#renewal === undefined || this.#state !== "current") return undefined;
    const wait = Math.min(this.#renewalPause.leftMilliseconds, this.#dueInMilliseconds);
    return wait > 0 ? wait : undefined;
  }

  get #hasPendingKey(): boolean {
    return this.#options.store.pendingKey() !== undefined;
  }

  /**
   * Requests a certificate and installs it. Aborting `signal` ends the wait: the request remains, and the next call finds it by its key.
   * Resolves with a text that says what was done.
   */
  async #request(cause: RequestCause, signal: AbortSignal): Promise<string> {
    const { name, requestClient, log } = this.#options;
    const specification = this.#specification;
    if (specification === undefined) return "nothing is wanted yet";
    try {
      const work = new LongWork();
      const client = requestClient();
      if (client === undefined) throw new Error("there is no credential to request a certificate with");
      if (cause === "refused") this.#giveUpKey();
      this.#beginRenewal();
      const recall = cause === "recalled" ? this.#inUse.recalledBefore : 0;
      let answered = 0;
      const pair = await requestCertificate(
        {
          ...this.#options,
          ...specification,
          requests: client.resource(certificateSigningRequestResource(specification.names)),
          onCreated: (request) => {
            this.#pendingRequest = request;
            answered = recall;
            if (!this.#wasRefused) log.info({ certificate: name, request, reason: cause }, "requested a certificate");
          },
          onWaiting: (request) => {
            this.#pendingRequest = request.metadata.name;
            log.warn({ certificate: name, request: request.metadata.name }, waitingText(request));
          },
        },
        signal,
      );
      // The answers for hundreds of certificates may come at once. Each is then written to the disk in a turn of its own.
      await work.pause();
      signal.throwIfAborted();
      this.#pendingRequest = undefined;
      this.#refuseWorse(pair, specification);
      this.#install(pair, { specification, answered });
      this.#succeed(cause);
      return "in use";
    } catch (error) {
      if (signal.aborted) return "ended: something else is wanted now, or the agent stops";
      throw error;
    }
  }

  /**
   * Puts an issued certificate into use; `answered` is the recall that its request answers, or 0. Throws RequestRefused when the
   * certificate would have to be replaced at once.
   */
  #install(
    pair: KeyPair,
    { specification, answered }: { readonly specification: CertificateSpecification; readonly answered: number },
  ): void {
    const { wanted } = specification;
    this.#inUse.install(pair, { wanted, answered });
    this.#renewal = undefined;
    this.#options.onInstalled(pair);
    const state = this.#inUse.stateFor(wanted);
    // A signer whose certificates are due at once, or lack names, must not be asked again without a pause.
    if (state !== "current") throw new RequestRefused(`the signer issued a certificate that is ${issuedFault(state)}`);
  }

  /**
   * Gives up the key of a waiting request, once for each pair in use that is revoked or refused: that key may have leaked too. The key of a
   * later request is kept, also after a restart.
   */
  #giveUpKey(): void {
    if (this.#inUse.isGivenUp) return;
    this.#demandNewKey();
    this.#inUse.giveUp();
  }

  #demandNewKey(): void {
    this.#renewal = "asked";
    try {
      this.#options.store.demandNewKey();
    } catch {
      // `#beginRenewal` demands it again, and its error says why the folder cannot be written.
    }
  }

  #beginRenewal(): void {
    if (this.#renewal !== "asked") return;
    this.#options.store.demandNewKey(); // a running request may have stored its key after the demand
    this.#renewal = "begun";
  }

  /**
   * Throws when the pair in use is good and the issued certificate must not replace it: RequestRefused when it never may, another Error
   * when it may later.
   */
  #refuseWorse({ certificate: issued }: KeyPair, { wanted }: CertificateSpecification): void {
    const { store, clock } = this.#options;
    const current = this.current?.certificate;
    const isGood = ["current", "due", "recalled", "early"].includes(this.#inUse.stateFor(wanted));
    if (current === undefined || !isGood) return;
    const fault = replacementFault({ current, issued, wanted, now: clock.now() });
    if (fault === undefined) return;
    if (fault.type === "early") throw new Error(fault.text); // the next try finds the same certificate
    store.forgetPendingKey(); // with the same key, the same request would give the same certificate
    throw new RequestRefused(fault.text);
  }

  #succeed(cause: RequestCause): void {
    this.#failure = undefined;
    this.#wasRefused = false;
    this.#failureLog.succeeded();
    // The server may refuse the new certificate too: a next request must not follow without a pause.
    if (cause === "revoked" || cause === "refused") this.#pause.begin(refusedBackoff);
    else this.#pause.forgetFailures();
    if (cause === "requested") this.#renewalPause.begin(refusedBackoff);
    else this.#renewalPause.forgetFailures();
  }

  #fail(error: unknown): void {
    const { name, onFailed } = this.#options;
    this.#failure = failureReason(error);
    this.#wasRefused = error instanceof RequestRefused;
    if (this.#wasRefused) this.#pendingRequest = undefined;
    const backoff = this.#wasRefused ? refusedBackoff : unreachableBackoff;
    const wait = this.#pause.begin(
      backoff,
      Math.min(requestedPauseMilliseconds(error), longestRequestedPauseMilliseconds),
    );
    this.#failureLog.failed(error, { certificate: name, retryInSeconds: Math.ceil(wait / 1000) });
    onFailed(error);
  }
}

/** What a request waits for, and who can help. */
function waitingText(request: CertificateSigningRequest): string {
  const { metadata, spec } = request;
  return certificateRequestState(request) === "approved"
    ? `the request is approved, and still waits for the signer ${spec.signerName}: is there such a signer, and does its controller run?`
    : `the request still waits for approval: ${approvalAdvice(spec.signerName, metadata.name ?? "")}`;
}
