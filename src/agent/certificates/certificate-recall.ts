import type { Certificate } from "../../pki/certificates/certificate.ts";
import { recallTime } from "./certificate-renewal.ts";

/**
 * Whether the signer of a certificate asks for its early renewal, and when it is renewed. Times are milliseconds since the epoch, by the
 * server's clock.
 */
export class CertificateRecall {
  #certificate: Certificate | undefined;
  #issuedBefore = 0;
  #answered = 0;
  #renewAt = Infinity;

  /** The signer has recalled the certificates that it issued before this time; 0: none. */
  get issuedBefore(): number {
    return this.#issuedBefore;
  }

  /** When the certificate is renewed because of the recall; Infinity: never. */
  get renewAt(): number {
    return this.#renewAt;
  }

  /** Says which certificate is in use from now on. */
  use(certificate: Certificate): void {
    this.#certificate = certificate;
    this.#renewAt = this.#turn();
  }

  /**
   * Says that the signer has changed the time of its recall. A later time does not postpone a renewal that an earlier time has scheduled:
   * otherwise a change every few minutes would postpone it for ever.
   */
  move(issuedBefore: number): void {
    this.#issuedBefore = issuedBefore;
    const turn = this.#turn();
    this.#renewAt = turn === Infinity ? turn : Math.min(turn, this.#renewAt);
  }

  /**
   * Says that the next certificate in use was requested because of this recall. The recall then does not renew it again, even if its signer
   * dated it before the recall.
   */
  answer(issuedBefore: number): void {
    this.#answered = Math.max(this.#answered, issuedBefore);
  }

  #turn(): number {
    return this.#issuedBefore <= this.#answered ? Infinity : recallTime(this.#certificate, this.#issuedBefore);
  }
}
