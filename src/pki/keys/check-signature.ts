import { constants, verify } from "node:crypto";
import type { KeyObject, VerifyKeyObjectInput } from "node:crypto";
import type { Certificate } from "../certificates/certificate.ts";
import { PkiError } from "../pki-error.ts";
import { importPublicKey } from "./public-key.ts";
import type { PublicKeyInfo } from "./public-key.ts";
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

/** The data for checking whether `issuer` has signed a certificate. */
export const certificateSignature = (
  { tbsCertificate, signature, signatureAlgorithm }: Certificate,
  issuer: Certificate,
): SignedData => ({
  signed: tbsCertificate,
  signature,
  algorithm: signatureAlgorithm,
  publicKey: issuer.publicKey,
  sha1: "refused",
});

const goKeyTypes = {
  RSA: "*rsa.PublicKey",
  ECDSA: "*ecdsa.PublicKey",
  Ed25519: "ed25519.PublicKey",
  other: "",
} as const;

/** Throws PkiError with Go's message unless the key made this signature over exactly these octets. */
export function checkSignature(data: SignedData): void {
  const { algorithm, key } = verifiable(data);
  if (!isValid(data, { algorithm, key })) throw invalid(data);
}

/**
 * Checks a signature like `checkSignature`, but in the thread pool, so that the event loop is free. Rejects instead of throwing. The octets
 * must not change until it has ended.
 */
export async function checkSignatureInThreadPool(data: SignedData): Promise<void> {
  const { algorithm, key } = verifiable(data);
  const isMade = await new Promise<boolean>((resolve) => {
    try {
      verify(algorithm.hash, data.signed, inputOf(algorithm, key), data.signature, (error, isEqual) =>
        resolve(error === null && isEqual),
      );
    } catch {
      resolve(false); // as in `isValid`
    }
  });
  if (!isMade) throw invalid(data);
}

/** Imports the key. Throws PkiError when its signatures must not be accepted. */
function verifiable({ algorithm, publicKey, sha1 }: SignedData): Verifying {
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
  return { algorithm, key: importPublicKey(publicKey) };
}

interface Verifying {
  readonly algorithm: SignatureAlgorithm;
  readonly key: KeyObject;
}

const unimplemented = (): PkiError => new PkiError("x509: cannot verify signature: algorithm unimplemented");

const failureOf = {
  RSA: "crypto/rsa: verification error",
  ECDSA: "x509: ECDSA verification failure",
  Ed25519: "x509: Ed25519 verification failure",
  other: "",
} as const;

const invalid = ({ publicKey }: SignedData): PkiError => new PkiError(failureOf[publicKey.algorithm]);

function isValid({ signed, signature }: SignedData, { algorithm, key }: Verifying): boolean {
  try {
    return verify(algorithm.hash, signed, inputOf(algorithm, key), signature);
  } catch {
    // For some malformed keys and signatures, OpenSSL throws instead of returning false.
    return false;
  }
}

const inputOf = ({ isPss }: SignatureAlgorithm, key: KeyObject): KeyObject | VerifyKeyObjectInput =>
  isPss ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST } : key;
