import type { Clock } from "../../../machinery/api/clock.ts";
import { isSelfIssued } from "../../../pki/certificates/authority-path.ts";
import { signCertificateWith } from "../../../pki/certificates/certificate-authority.ts";
import { parseCertificate } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { suffixedCommonName } from "../../../pki/names/distinguished-name.ts";
import { generatePrivateKey, publicKeyInfoOf } from "../../../pki/keys/keys.ts";
import type { OcspResponder } from "../../../pki/revocation/ocsp-response.ts";
import { noSubjectAltNames } from "../../../pki/names/subject-alt-names.ts";
import { backdateMilliseconds } from "../backdate.ts";
import type { SigningAuthority } from "../authorities/signing-authority.ts";
import { authorityId } from "./addresses.ts";

/** A CA for which this server answers. */
export interface AnsweringAuthority {
  readonly signerName: string;
  readonly authority: SigningAuthority;
}

interface OcspRespondersOptions {
  readonly clock: Clock;
  /** Puts a responder's certificate into the inventory. No answer is signed before that. */
  readonly record: (certificate: Certificate, signerName: string) => Promise<void>;
}

interface Made {
  readonly responder: OcspResponder;
  readonly issuer: Certificate;
  /** Milliseconds since the epoch. */
  readonly renewedFrom: number;
}

const lifetimeMilliseconds = 7 * 24 * 3_600_000;
/** The pause after a failure, such as a store that does not respond. */
const retryMilliseconds = 5000;

/**
 * The keys that sign OCSP answers: one for each CA and process, made when it is first needed, and never written anywhere. So the CA's own
 * key signs only a few responder certificates, and not the answers that strangers request.
 */
export class OcspResponders {
  readonly #options: OcspRespondersOptions;
  readonly #made = new Map<string, Made>();
  readonly #making = new Map<string, Promise<OcspResponder>>();
  readonly #failedAt = new Map<string, number>();

  constructor(options: OcspRespondersOptions) {
    this.#options = options;
  }

  /** The responder of a CA. Rejects when the responder's certificate cannot be recorded now. */
  async of(answering: AnsweringAuthority): Promise<OcspResponder> {
    const { certificate } = answering.authority;
    const id = authorityId(certificate);
    const now = this.#options.clock.now();
    const made = this.#made.get(id);
    // A responder that was made while the clock was ahead is not valid yet.
    if (made?.issuer.der.equals(certificate.der) === true && made.responder.certificate.notBefore <= now) {
      if (now < made.renewedFrom) return made.responder;
      if (now < made.responder.certificate.notAfter && this.#isPausing(id, now)) return made.responder;
    }
    if (this.#isPausing(id, now)) throw new Error("there is no OCSP responder for the CA yet");
    const pending = this.#making.get(id) ?? this.#make(id, answering).finally(() => void this.#making.delete(id));
    this.#making.set(id, pending);
    return pending;
  }

  #isPausing(id: string, now: number): boolean {
    const failedAt = this.#failedAt.get(id);
    return failedAt !== undefined && Math.abs(now - failedAt) < retryMilliseconds;
  }

  async #make(id: string, { signerName, authority }: AnsweringAuthority): Promise<OcspResponder> {
    const { clock, record } = this.#options;
    try {
      const now = clock.now();
      const { certificate: issuer, path } = authority;
      const privateKey = generatePrivateKey("ECDSA P-256");
      const commonName = suffixedCommonName(issuer.subject.commonName, " OCSP responder");
      const notAfter = Math.min(now + lifetimeMilliseconds, issuer.notAfter);
      const der = await signCertificateWith(
        {
          subject: { commonName },
          publicKey: publicKeyInfoOf(privateKey),
          notBefore: now - backdateMilliseconds,
          notAfter,
          isCA: false,
          keyUsages: ["digitalSignature"],
          extendedKeyUsages: ["ocspSigning"],
          subjectAltNames: noSubjectAltNames,
          isOcspResponder: true,
        },
        authority,
      );
      const certificate = parseCertificate(der);
      await record(certificate, signerName);
      const intermediates = path.filter((one) => !isSelfIssued(one));
      const responder = { certificate, privateKey, chain: [certificate, ...intermediates] };
      this.#made.set(id, { responder, issuer, renewedFrom: now + (notAfter - now) / 2 });
      this.#failedAt.delete(id);
      return responder;
    } catch (error) {
      this.#failedAt.set(id, clock.now());
      throw error;
    }
  }
}
