import { createPrivateKey } from "node:crypto";
import { parseCertificate } from "./certificate.ts";
import { publicKeyInfoOf } from "../keys/keys.ts";
import { decodePemBlocks } from "../pem.ts";
import { PkiError } from "../pki-error.ts";
import type { PublicKeyInfo } from "../keys/public-key.ts";

/** The largest private key: more than the largest usable RSA key takes. */
const maximumKeyBytes = 16 * 1024;

/**
 * Why a certificate and a private key, both in PEM, are not a pair for TLS, in the words of Go's `tls.X509KeyPair`. Undefined: they are.
 */
export function tlsPairFault(certificatePem: Uint8Array, keyPem: Uint8Array): string | undefined {
  try {
    const certificate = parseCertificate(certificateBlock(certificatePem));
    const key = parsePrivateKey(keyBlock(keyPem));
    if (certificate.publicKey.algorithm === "other") return "tls: unknown public key algorithm";
    if (key.algorithm !== certificate.publicKey.algorithm)
      return "tls: private key type does not match public key type";
    return key.spki.equals(certificate.publicKey.spki) ? undefined : "tls: private key does not match public key";
  } catch (error) {
    if (error instanceof PkiError) return error.message;
    throw error;
  }
}

function certificateBlock(pem: Uint8Array): Buffer {
  const blocks = decodePemBlocks(pem);
  const found = blocks.find(({ type }) => type === "CERTIFICATE");
  if (found !== undefined) return found.bytes;
  const types = blocks.map(({ type }) => type);
  if (types.length === 0) throw new PkiError("tls: failed to find any PEM data in certificate input");
  const missing = 'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping';
  throw new PkiError(
    types.length === 1 && types[0]?.endsWith("PRIVATE KEY") === true
      ? "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched"
      : `${missing} PEM blocks of the following types: [${types.join(" ")}]`,
  );
}

function keyBlock(pem: Uint8Array): Buffer {
  const blocks = decodePemBlocks(pem);
  const found = blocks.find(({ type }) => type === "PRIVATE KEY" || type.endsWith(" PRIVATE KEY"));
  if (found !== undefined) return found.bytes;
  const types = blocks.map(({ type }) => type);
  if (types.length === 0) throw new PkiError("tls: failed to find any PEM data in key input");
  const missing = 'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping';
  throw new PkiError(
    types.length === 1 && types[0] === "CERTIFICATE"
      ? "tls: found a certificate rather than a key in the PEM for the private key"
      : `${missing} PEM blocks of the following types: [${types.join(" ")}]`,
  );
}

/** The public half of a private key in any of its forms, whatever the label of its PEM block is. */
function parsePrivateKey(der: Buffer): PublicKeyInfo {
  for (const type of ["pkcs1", "pkcs8", "sec1"] as const) {
    if (der.length > maximumKeyBytes) break;
    try {
      return publicKeyInfoOf(createPrivateKey({ key: der, format: "der", type }));
    } catch {
      // The key may be in another form.
    }
  }
  throw new PkiError("tls: failed to parse private key");
}
