import type { Certificate } from "../../pki/certificates/certificate.ts";
import { recallTime } from "./certificate-renewal.ts";

/**
 * Whether the signer of a certificate wants it renewed early, and when its turn is. Times are milliseconds since the epoch, by the
 * server's clock.
 */
export class CertificateRecall {
  #certificate: Certificate | undefined;
  #issuedBefore = 0;
  #answered = 0;
  #renewAt = Infinity;

  /** The signer has recalled what it issued before this time; 0: nothing. */
  get issuedBefore(): number {
    return this.#issuedBefore;
  }

  /** When the certificate is renewed because of that; Infinity: it is not. */
  get renewAt(): number {
    return this.#renewAt;
  }

  /** A certificate is in use from now on. */
  use(certificate: Certificate): void {
    this.#certificate = certificate;
    this.#renewAt = this.#turn();
  }

  /**
   * The signer has recalled what it issued before another time. That does not put off a turn that an earlier time has given: else whoever
   * moves the time every few minutes would put it off for ever.
   */
  move(issuedBefore: number): void {
    this.#issuedBefore = issuedBefore;
    const turn = this.#turn();
    this.#renewAt = turn === Infinity ? turn : Math.min(turn, this.#renewAt);
  }

  /** What is used next was requested because of this recall: it is left alone, whatever its signer has written into it. */
  answer(issuedBefore: number): void {
    this.#answered = Math.max(this.#answered, issuedBefore);
  }

  #turn(): number {
    return this.#issuedBefore <= this.#answered ? Infinity : recallTime(this.#certificate, this.#issuedBefore);
  }
}
