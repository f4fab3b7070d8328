import type { Certificate } from "../pki/certificate.ts";
import { isCertificateFor } from "./wanted-certificate.ts";
import type { WantedCertificate } from "./wanted-certificate.ts";

/** How a certificate stands: the first word that fits. */
export type CertificateState =
  /** There is none. */
  | "missing"
  /** The server did not accept it. */
  | "refused"
  /** It is past its end. */
  | "expired"
  /** Names are missing in it. */
  | "outdated"
  /** Its time to be renewed has come. */
  | "due"
  | "current";

export interface CertificateQuestion {
  readonly certificate: Certificate | undefined;
  readonly wanted: WantedCertificate;
  readonly isRefused: boolean;
  /** Milliseconds since the epoch. */
  readonly rotateAt: number;
  readonly now: number;
}

/**
 * A certificate that is not valid yet counts as current: the signer's clock is ahead of this one, and asking again would
 * give another one like it.
 */
export function certificateState(question: CertificateQuestion): CertificateState {
  const { certificate, wanted, isRefused, rotateAt, now } = question;
  if (certificate === undefined) return "missing";
  if (isRefused) return "refused";
  if (now > certificate.notAfter) return "expired";
  if (!isCertificateFor(certificate, wanted)) return "outdated";
  return now >= rotateAt ? "due" : "current";
}
