import { UnreadableAnswer } from "../../../machinery/client/transport.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import type { CertificateSigningRequest } from "../resources.ts";

/**
 * The certificate of a request and its chain, without text that a signer wrote between them. Empty while the certificate is not issued.
 * Throws UnreadableAnswer.
 */
export function chainOfRequest({ metadata, status }: CertificateSigningRequest): Certificate[] {
  try {
    return parseCertificatesPem(Buffer.from(status.certificate ?? "", "base64"));
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause;
    throw new UnreadableAnswer(`the certificate of request ${metadata.name ?? ""} cannot be read: ${cause.message}`, {
      cause,
    });
  }
}
