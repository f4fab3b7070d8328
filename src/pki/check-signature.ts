import { constants, verify } from "node:crypto";
import { PkiError } from "./pki-error.ts";
import { importPublicKey, type PublicKeyInfo } from "./public-key.ts";
import type { SignatureAlgorithm } from "./signature-algorithm.ts";

export interface SignedData {
  readonly signed: Buffer;
  readonly signature: Buffer;
  /** Undefined when the algorithm is unknown. */
  readonly algorithm: SignatureAlgorithm | undefined;
  readonly publicKey: PublicKeyInfo;
  /** Go's rule: requests may use SHA-1, certificates may not. */
  readonly sha1: "allowed" | "refused";
}

const goKeyTypes = {
  RSA: "*rsa.PublicKey",
  ECDSA: "*ecdsa.PublicKey",
  Ed25519: "ed25519.PublicKey",
  other: "",
} as const;

/** Throws PkiError with Go's message unless the key made this signature over exactly these octets. */
export function checkSignature({ signed, signature, algorithm, publicKey, sha1 }: SignedData): void {
  if (algorithm === undefined) throw unimplemented();
  if (algorithm.hash === "md5" || (algorithm.hash === "sha1" && sha1 === "refused")) {
    throw new PkiError(`x509: cannot verify signature: insecure algorithm ${algorithm.name}`);
  }
  if (publicKey.algorithm === "other") throw unimplemented();
  if (algorithm.keyAlgorithm !== publicKey.algorithm) {
    throw new PkiError(
      `x509: signature algorithm specifies an ${algorithm.keyAlgorithm} public key, but have public key of type ${goKeyTypes[publicKey.algorithm]}`,
    );
  }
  if (!isValid({ signed, signature, algorithm, publicKey })) throw new PkiError(failureOf[publicKey.algorithm]);
}

const unimplemented = (): PkiError => new PkiError("x509: cannot verify signature: algorithm unimplemented");

const failureOf = {
  RSA: "crypto/rsa: verification error",
  ECDSA: "x509: ECDSA verification failure",
  Ed25519: "x509: Ed25519 verification failure",
} as const;

function isValid({
  signed,
  signature,
  algorithm,
  publicKey,
}: {
  signed: Buffer;
  signature: Buffer;
  algorithm: SignatureAlgorithm;
  publicKey: PublicKeyInfo;
}): boolean {
  const key = importPublicKey(publicKey);
  try {
    if (!algorithm.isPss) return verify(algorithm.hash, signed, key, signature);
    const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
    return verify(algorithm.hash, signed, { key, ...padding }, signature);
  } catch {
    // For some malformed keys and signatures, OpenSSL throws instead of returning false.
    return false;
  }
}
