import type { Clock } from "../../machinery/api/clock.ts";
import type { Log } from "../../machinery/logging/log.ts";
import { serialNumberHex } from "../../pki/certificates/certificate.ts";
import { CertificateRecall } from "./certificate-recall.ts";
import { certificateState, renewalTime } from "./certificate-renewal.ts";
import type { CertificateState } from "./certificate-renewal.ts";
import { readUsable } from "./certificate-store.ts";
import type { CertificateStore } from "./certificate-store.ts";
import type { KeyPair } from "./key-pair.ts";
import { wantedDigest } from "./wanted-certificate.ts";
import type { WantedCertificate } from "./wanted-certificate.ts";

export interface PairInUseOptions {
  /** `client`, `serving`, or the name of a service's certificate. */
  readonly name: string;
  readonly store: CertificateStore;
  readonly lifetimeSeconds: number | undefined;
  /** The share of the lifetime after which to renew; undefined: a random one from 0.7 to 0.9. */
  readonly renewalShare: number | undefined;
  /** Whether the server refused a pair with 401, so that a new one must replace it. Only for the client certificate. */
  readonly mustReplace: (pair: KeyPair | undefined) => boolean;
  /** The server's time. */
  readonly clock: Clock;
  /** Returns random numbers from 0 to 1, as `Math.random` does. */
  readonly random: () => number;
  readonly log: Log;
}

/** Equals no digest, so a refused pair is replaced after a restart too. */
const refusedDigest = "refused";

/** The pair in use, with all that decides when it must be replaced. Times are milliseconds since the epoch, by the server's clock. */
export class PairInUse {
  readonly #options: PairInUseOptions;
  #pair: KeyPair | undefined;
  /**
   * The digest of the specification with which the pair was requested; `refusedDigest` once the pair is revoked or refused. Undefined: not
   * known, and taken for the digest of the present specification.
   */
  #digest: string | undefined;
  #renewAt = 0;
  readonly #recall = new CertificateRecall();
  /** The pair that the server says is revoked. */
  #revoked: KeyPair | undefined;

  /** Uses the saved pair, if there is one. */
  constructor(options: PairInUseOptions) {
    this.#options = options;
    const { store, log, name } = options;
    this.#digest = store.wantedDigest;
    this.#use(
      readUsable(store, (fault) => log.warn({ certificate: name, fault }, "the saved certificate cannot be used")),
    );
  }

  /** The pair may have expired. */
  get pair(): KeyPair | undefined {
    return this.#pair;
  }

  /** When the pair is renewed. */
  get dueAt(): number {
    return Math.min(this.#renewAt, this.#recall.renewAt);
  }

  /** The signer has recalled the certificates that it issued before this time; 0: none. */
  get recalledBefore(): number {
    return this.#recall.issuedBefore;
  }

  /** Whether `giveUp` was called for the pair, before a restart or after it. */
  get isGivenUp(): boolean {
    return this.#digest === refusedDigest;
  }

  stateFor(wanted: WantedCertificate): CertificateState {
    const digest = wantedDigest(wanted, this.#options.lifetimeSeconds);
    return certificateState({
      certificate: this.#pair?.certificate,
      wanted,
      isSpecificationChanged: (this.#digest ?? digest) !== digest,
      isRevoked: this.#pair !== undefined && this.#pair === this.#revoked,
      isRefused: this.#options.mustReplace(this.#pair),
      renewAt: this.#renewAt,
      recallAt: this.#recall.renewAt,
      now: this.#options.clock.now(),
    });
  }

  /** See `CertificateManager.recall`. Returns whether anything changed. */
  recall(issuedBefore: number): boolean {
    if (issuedBefore === this.#recall.issuedBefore) return false;
    this.#recall.move(issuedBefore);
    const { name, log } = this.#options;
    if (this.#recall.renewAt < this.#renewAt) {
      const times = {
        issuedBefore: new Date(issuedBefore).toISOString(),
        renewAt: new Date(this.dueAt).toISOString(),
      };
      log.info({ certificate: name, ...times }, "the signer has recalled this certificate: it is renewed early");
    }
    return true;
  }

  /** Says that the server has revoked a pair. Returns false when that is known, or it is not the pair in use. */
  revoke(pair: KeyPair): boolean {
    if (pair !== this.#pair || pair === this.#revoked) return false;
    this.#revoked = pair;
    const { name, log } = this.#options;
    const serialNumber = serialNumberHex(pair.certificate);
    log.warn({ certificate: name, serialNumber }, "this certificate is revoked: another one takes its place");
    return true;
  }

  /** Says that the key of a waiting request was given up because the pair is revoked or refused. */
  giveUp(): void {
    this.#digest = refusedDigest;
    try {
      this.#options.store.keepWantedDigest(refusedDigest);
    } catch {
      // After a restart, the key is given up once more.
    }
  }

  /** Writes the pair again when somebody has removed its file. Throws UnusableFile when that fails. */
  restore(wanted: WantedCertificate): void {
    const { name, store, clock, lifetimeSeconds, log } = this.#options;
    if (this.#pair === undefined) return;
    const digest = this.#digest ?? wantedDigest(wanted, lifetimeSeconds);
    if (!store.restore(this.#pair, { now: clock.now(), wantedDigest: digest })) return;
    log.warn(
      { certificate: name, file: store.file },
      "somebody has removed the saved certificate: it is written again",
    );
  }

  /** Saves an issued pair and uses it; `answered` is the recall that its request answers, or 0. */
  install(
    pair: KeyPair,
    { wanted, answered }: { readonly wanted: WantedCertificate; readonly answered: number },
  ): void {
    const { clock, store, lifetimeSeconds } = this.#options;
    const digest = wantedDigest(wanted, lifetimeSeconds);
    store.install(pair, { now: clock.now(), wantedDigest: digest });
    this.#digest = digest;
    this.#recall.answer(answered);
    this.#use(pair);
  }

  #use(pair: KeyPair | undefined): void {
    const { name, clock, log, random, renewalShare } = this.#options;
    this.#pair = pair;
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
}
