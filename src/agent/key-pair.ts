import type { Certificate } from "../pki/certificate.ts";
import { parsePrivateKeyPem, publicKeyInfoOf } from "../pki/keys.ts";
import { PkiError } from "../pki/pki-error.ts";
import { parseCertificatesPem } from "../pki/trust-anchors.ts";

/** A private key and the certificates to show with it, the key's own first. */
export interface KeyPair {
  readonly certificate: Certificate;
  readonly certificatePem: string;
  /** A secret. */
  readonly keyPem: string;
}

/** Puts a pair together. Throws PkiError when the first certificate is not the key's. */
export function keyPair({ certificatePem, keyPem }: Omit<KeyPair, "certificate">): KeyPair {
  const [certificate] = parseCertificatesPem(certificatePem);
  if (certificate === undefined) throw new PkiError("there is no certificate");
  if (!publicKeyInfoOf(parsePrivateKeyPem(keyPem)).spki.equals(certificate.publicKey.spki)) {
    throw new PkiError("the certificate does not belong to the private key");
  }
  return { certificate, certificatePem, keyPem };
}

/** One file for both, so that no moment exists in which they do not fit. */
export const formatKeyPair = ({ certificatePem, keyPem }: KeyPair): string => keyPem + certificatePem;

/** Reads what `formatKeyPair` wrote. Throws PkiError. */
export function parseKeyPair(text: string): KeyPair {
  const certificateAt = text.indexOf("-----BEGIN CERTIFICATE-----");
  if (certificateAt <= 0) throw new PkiError("the file does not hold a key and then its certificate");
  return keyPair({ keyPem: text.slice(0, certificateAt), certificatePem: text.slice(certificateAt) });
}
