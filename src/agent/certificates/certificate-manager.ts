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
import { serialNumberHex } from "../../pki/certificates/certificate.ts";
import { approvalAdvice } from "./approval-advice.ts";
import { FailureLog } from "../failure-log.ts";
import { failureReason } from "../failure-reason.ts";
import { CertificateRecall } from "./certificate-recall.ts";
import { certificateState, nextStep, renewalTime, replacementFault } from "./certificate-renewal.ts";
import type { CertificateState, RenewalStep, RequestCause } from "./certificate-renewal.ts";
import { readUsable } from "./certificate-store.ts";
import type { CertificateStore } from "./certificate-store.ts";
import type { KeyPair } from "./key-pair.ts";
import { requestCertificate, RequestRefused } from "./request-certificate.ts";
import { LongWork } from "../../machinery/scheduling/long-work.ts";
import { RetryPause } from "./retry-pause.ts";
import { wantedDigest } from "./wanted-certificate.ts";
import type { WantedCertificate } from "./wanted-certificate.ts";
import type { Log } from "../../machinery/logging/log.ts";

export interface CertificateManagerOptions {
  /** `client`, `serving`, or the name of a service's certificate. */
  readonly name: string;
  readonly store: CertificateStore;
  readonly lifetimeSeconds: number | undefined;
  /** The share of the lifetime after which to renew; undefined: a random one from 0.7 to 0.9. */
  readonly renewalShare: number | undefined;
  readonly requestPrefix: string;
  /** Whether the server refused a pair with 401, so that a new one must replace it. Only for the client certificate. */
  readonly mustReplace: (pair: KeyPair | undefined) => boolean;
  /** The client to request with now; undefined: there is no credential. */
  readonly requestClient: () => ApiClient | undefined;
  /** The server's time. */
  readonly clock: Clock;
  /** A monotonic clock, for waits after failures. */
  readonly monotonic: Clock;
  /** Returns random numbers from 0 to 1, as `Math.random` does. */
  readonly random: () => number;
  readonly sleep: Sleep;
  readonly log: Log;
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
  /** Why there is no new certificate, after the last try. */
  readonly failure: string | undefined;
  /** The request that waits for approval or issuance. */
  readonly pendingRequest: string | undefined;
  /** The signer of that request. Undefined: nothing is wanted yet. */
  readonly signerName: string | undefined;
  /** Whether somebody asked for a new certificate, and neither the certificate nor its key exists yet. */
  readonly isRenewalRequested: boolean;
  /** Whether there is a key, or a demand for one, whose certificate was not issued yet. */
  readonly isUnfinished: boolean;
}

/** For a request that was denied or failed, or whose certificate cannot be used: a new request can succeed only after people have acted. */
const refusedBackoff: Backoff = { firstMilliseconds: 10_000, longestMilliseconds: 10 * 60_000 };

/** The server may ask for a pause, but the certificate in use must not expire in it. */
const longestRequestedPauseMilliseconds = refusedBackoff.longestMilliseconds;

/** Equals no digest, so a refused pair is replaced after a restart too. */
const refusedDigest = "refused";

/** The clock may be set and the machine may sleep, so look at the time at least this often. */
const longestSleepMilliseconds = 60_000;

/** Obtains one certificate, renews it in time, and never stops trying. The pair in use stays in use until the next pair is installed. */
export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  #current: KeyPair | undefined;
  /**
   * The digest of the specification with which the pair in use was requested; `refusedDigest` once the pair is revoked or refused.
   * Undefined: not known, and taken for the digest of the present specification.
   */
  #digest: string | undefined;
  #specification: CertificateSpecification | undefined;
  readonly #failureLog: FailureLog;
  #renewAt = 0;
  readonly #recall = new CertificateRecall();
  /** The pair that the server says is revoked. */
  #revoked: KeyPair | undefined;
  readonly #pause: RetryPause;
  /** The pause after a renewal on request, before the next one. It grows until the certificate is renewed for another reason. */
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
    const { store, log, name } = options;
    this.#failureLog = new FailureLog({ ...options, failure: "no new certificate" });
    this.#pause = new RetryPause(options);
    this.#renewalPause = new RetryPause(options);
    store.forgetUsedKey();
    this.#digest = store.wantedDigest;
    this.#use(
      readUsable(store, (fault) => log.warn({ certificate: name, fault }, "the saved certificate cannot be used")),
    );
  }

  /** The pair in use; it may have expired. */
  get current(): KeyPair | undefined {
    return this.#current;
  }

  get status(): CertificateReport {
    const { name } = this.#options;
    return {
      name,
      state: this.#specification === undefined ? "unknown" : this.#state(this.#specification),
      notAfter: this.#current?.certificate.notAfter,
      renewAt: this.#current && this.#dueAt,
      failure: this.#failure,
      pendingRequest: this.#pendingRequest,
      signerName: this.#specification?.wanted.signerName,
      isRenewalRequested:
        this.#renewal === "asked" || (this.#renewal === "begun" && (this.#options.store.pendingKey() ?? "") === ""),
      isUnfinished: this.#hasPendingKey,
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
    if (issuedBefore === this.#recall.issuedBefore) return;
    this.#recall.move(issuedBefore);
    const { name, log } = this.#options;
    if (this.#recall.renewAt < this.#renewAt) {
      const times = {
        issuedBefore: new Date(issuedBefore).toISOString(),
        renewAt: new Date(this.#dueAt).toISOString(),
      };
      log.info({ certificate: name, ...times }, "the signer has recalled this certificate: it is renewed early");
    }
    this.#check.wake();
  }

  /** Replaces a pair that the server says is revoked: requests a new certificate now, with a new key. */
  revoked(pair: KeyPair): void {
    if (pair !== this.#current || pair === this.#revoked) return;
    this.#revoked = pair;
    const { name, log } = this.#options;
    const serialNumber = serialNumberHex(pair.certificate);
    log.warn({ certificate: name, serialNumber }, "this certificate is revoked: another one takes its place");
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
    const wait = this.#renewalPause.leftMilliseconds;
    if (wait > 0) {
      log.warn(
        { certificate: name, retryInSeconds: Math.ceil(wait / 1000) },
        "this certificate was renewed on request just now, and is renewed again after a pause: does its own hook ask for that?",
      );
    }
    this.#pause.end();
    this.#wake.wake();
    this.#demandNewKey();
  }

  /** Writes the pair in use again when somebody has removed its file. Throws UnusableFile when that fails. */
  restore(): void {
    const { name, store, clock, lifetimeSeconds, log } = this.#options;
    if (this.#current === undefined || this.#specification === undefined) return;
    const digest = this.#digest ?? wantedDigest(this.#specification.wanted, lifetimeSeconds);
    if (!store.restore(this.#current, { now: clock.now(), wantedDigest: digest })) return;
    log.warn(
      { certificate: name, file: store.file },
      "somebody has removed the saved certificate: it is written again",
    );
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
    if (this.#specification === undefined) return { do: "wait", milliseconds: longestSleepMilliseconds };
    return nextStep({
      certificate: this.#state(this.#specification),
      dueInMilliseconds: this.#dueAt - this.#options.clock.now(),
      isRenewalRequested: this.#renewal !== undefined,
      hasPendingRequest: this.#hasPendingKey,
      retryInMilliseconds: Math.max(
        this.#pause.leftMilliseconds,
        this.#renewal === undefined ? 0 : this.#renewalPause.leftMilliseconds,
      ),
    });
  }

  get #hasPendingKey(): boolean {
    return this.#options.store.pendingKey() !== undefined;
  }

  #state({ wanted }: CertificateSpecification): CertificateState {
    const digest = wantedDigest(wanted, this.#options.lifetimeSeconds);
    return certificateState({
      certificate: this.#current?.certificate,
      wanted,
      isSpecificationChanged: (this.#digest ?? digest) !== digest,
      isRevoked: this.#current !== undefined && this.#current === this.#revoked,
      isRefused: this.#options.mustReplace(this.#current),
      renewAt: this.#renewAt,
      recallAt: this.#recall.renewAt,
      now: this.#options.clock.now(),
    });
  }

  get #dueAt(): number {
    return Math.min(this.#renewAt, this.#recall.renewAt);
  }

  /**
   * Requests a certificate and installs it. Aborting `signal` ends the wait: the request remains, and the next call finds it by its key.
   * Resolves with a text that says what was done.
   */
  async #request(reason: RequestCause, signal: AbortSignal): Promise<string> {
    const { name, requestClient, log } = this.#options;
    const specification = this.#specification;
    if (specification === undefined) return "nothing is wanted yet";
    try {
      const work = new LongWork();
      const client = requestClient();
      if (client === undefined) throw new Error("there is no credential to request a certificate with");
      if (reason === "refused") this.#giveUpKey();
      this.#beginRenewal();
      const recall = reason === "recalled" ? this.#recall.issuedBefore : 0;
      let answered = 0;
      const pair = await requestCertificate(
        {
          ...this.#options,
          ...specification,
          requests: client.resource(certificateSigningRequestResource(specification.names)),
          onCreated: (request) => {
            this.#pendingRequest = request;
            answered = recall;
            if (!this.#wasRefused) log.info({ certificate: name, request, reason }, "requested a certificate");
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
      if (this.#renewal === "asked") throw new Error("a new key was asked for meanwhile");
      this.#refuseWorse(pair, specification);
      this.#install(pair, { specification, answered });
      this.#failure = undefined;
      this.#wasRefused = false;
      this.#failureLog.succeeded();
      // The server may refuse the new certificate too: a next request must not follow without a pause.
      if (reason === "revoked" || reason === "refused") this.#pause.begin(refusedBackoff);
      else this.#pause.forgetFailures();
      if (reason === "requested") this.#renewalPause.begin(refusedBackoff);
      else this.#renewalPause.forgetFailures();
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
    const { clock, store, onInstalled, lifetimeSeconds } = this.#options;
    const digest = wantedDigest(specification.wanted, lifetimeSeconds);
    store.install(pair, { now: clock.now(), wantedDigest: digest });
    this.#digest = digest;
    this.#recall.answer(answered);
    this.#use(pair);
    this.#renewal = undefined;
    onInstalled(pair);
    const state = this.#state(specification);
    // A signer whose certificates are due at once, or lack names, must not be asked again without a pause.
    const fault = state === "early" ? "not valid yet" : `already ${state}`;
    if (state !== "current") throw new RequestRefused(`the signer issued a certificate that is ${fault}`);
  }

  /**
   * Gives up the key of a waiting request, once for each pair in use that is revoked or refused: that key may have leaked too. The key of a
   * later request is kept, also after a restart.
   */
  #giveUpKey(): void {
    if (this.#digest === refusedDigest) return;
    this.#demandNewKey();
    this.#digest = refusedDigest;
    try {
      this.#options.store.keepWantedDigest(refusedDigest);
    } catch {
      // After a restart, the key is given up once more.
    }
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
  #refuseWorse({ certificate: issued }: KeyPair, specification: CertificateSpecification): void {
    const { store, clock } = this.#options;
    const current = this.#current?.certificate;
    const isGood = ["current", "due", "recalled", "early"].includes(this.#state(specification));
    if (current === undefined || !isGood) return;
    const fault = replacementFault({ current, issued, wanted: specification.wanted, now: clock.now() });
    if (fault === undefined) return;
    if (fault.type === "early") throw new Error(fault.text); // the next try finds the same certificate
    store.forgetPendingKey(); // with the same key, the same request would give the same certificate
    throw new RequestRefused(fault.text);
  }

  #use(pair: KeyPair | undefined): void {
    const { name, clock, log, random, renewalShare } = this.#options;
    this.#current = pair;
    if (pair === undefined) return;
    const { certificate } = pair;
    const { notBefore, notAfter } = certificate;
    this.#renewAt = renewalTime(certificate, { random: random(), share: renewalShare });
    this.#recall.use(certificate);
    const fields = {
      certificate: name,
      serialNumber: serialNumberHex(certificate),
      notAfter: new Date(notAfter).toISOString(),
      renewAt: new Date(this.#renewAt).toISOString(),
    };
    if (clock.now() < notBefore) log.warn(fields, "this certificate is not valid yet: is the clock right?");
    else if (clock.now() > notAfter) log.warn(fields, "this certificate has expired");
    else log.info(fields, "this certificate is in use");
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
