import { createSecureContext } from "node:tls";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { parseCertificate } from "../../pki/certificates/certificate.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { parsePrivateKeyPem, publicKeyInfoOf } from "../../pki/keys/keys.ts";
import { splitKeyPair } from "../../pki/key-stores/pem-key-pair.ts";
import { PkiError } from "../../pki/pki-error.ts";
import { certificateBlocks, encodeCertificatesPem } from "../../pki/certificates/certificates-pem.ts";

/** A private key with its certificate and the rest of the chain. */
export interface KeyPair {
  readonly certificate: Certificate;
  readonly certificatePem: string;
  /** A secret, in PEM. */
  readonly keyPem: string;
}

/** OpenSSL accepts no longer chain from a peer (SSL_MAX_CERT_LIST_DEFAULT). */
const longestChainBytes = 100 * 1024;

/**
 * Checks that the first certificate belongs to the key, and that TLS accepts the pair. OpenSSL refuses a weak key or signature in the
 * chain, and a chain that is too long: neither other programs nor the agent could use such a pair. Takes only the certificates from the
 * text, because anything else that a server put between them, such as another key, would get into the files of programs. Throws PkiError.
 */
export function keyPair({ certificatePem, keyPem }: Omit<KeyPair, "certificate">): KeyPair {
  // Before they are parsed, because many certificates take seconds.
  const blocks = certificateBlocks(certificatePem);
  if (blocks.reduce((length, der) => length + der.length, 0) > longestChainBytes) {
    throw new PkiError(`its chain has more than ${longestChainBytes / 1024} KiB, which no TLS program takes`);
  }
  const chain = blocks.map((der) => parseCertificate(der));
  const [certificate] = chain;
  if (certificate === undefined) throw new PkiError("there is no certificate");
  if (!publicKeyInfoOf(parsePrivateKeyPem(keyPem)).spki.equals(certificate.publicKey.spki)) {
    throw new PkiError("the certificate does not belong to the private key");
  }
  const pair = { certificate, certificatePem: encodeCertificatesPem(chain), keyPem };
  try {
    createSecureContext({ cert: pair.certificatePem, key: keyPem });
  } catch (cause) {
    throw new PkiError(`TLS refuses it: ${messageOf(cause)}`, { cause });
  }
  return pair;
}

/** Key and certificates in one text, so that one rename replaces both. */
export const formatKeyPair = ({ certificatePem, keyPem }: KeyPair): string => keyPem + certificatePem;

/** Reads what `formatKeyPair` wrote. Throws PkiError. */
export function parseKeyPair(text: string): KeyPair {
  const pair = splitKeyPair(text);
  if (pair === undefined) throw new PkiError("the file does not hold a key and then its certificate");
  return keyPair({ certificatePem: pair.certificate, keyPem: pair.key });
}
