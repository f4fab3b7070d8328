import type { KeyObject } from "node:crypto";

/** A JWS algorithm (RFC 7518 section 3.1, RFC 8037) that tokens may be signed with. HMAC and `none` are none of them. */
export type SigningAlgorithm = "ES256" | "ES384" | "ES512" | "RS256" | "EdDSA";

interface AlgorithmParameters {
  /** The digest, or null where the algorithm has its own. */
  readonly digest: string | null;
  /** The exact length of a signature in bytes; absent where the key decides. */
  readonly signatureBytes?: number;
}

/** What node:crypto needs to know of each algorithm. */
export const algorithmParameters: Readonly<Record<SigningAlgorithm, AlgorithmParameters>> = {
  ES256: { digest: "sha256", signatureBytes: 64 },
  ES384: { digest: "sha384", signatureBytes: 96 },
  ES512: { digest: "sha512", signatureBytes: 132 },
  RS256: { digest: "sha256" },
  EdDSA: { digest: null, signatureBytes: 64 },
};

const algorithmsOfCurves: Readonly<Record<string, SigningAlgorithm>> = {
  prime256v1: "ES256",
  secp384r1: "ES384",
  secp521r1: "ES512",
};

const minimumRsaBits = 2048;
/** Verifying costs time with the square of the modulus. */
const maximumRsaBits = 16384;

/** The one algorithm that goes with a key. Throws an Error that says why for a key that may not sign tokens. */
export function algorithmOf(key: KeyObject): SigningAlgorithm {
  const { namedCurve, modulusLength } = key.asymmetricKeyDetails ?? {};
  const type = key.asymmetricKeyType;
  if (type === "ed25519") return "EdDSA";
  if (type === "ec") {
    const curve = namedCurve ?? "";
    const algorithm = Object.hasOwn(algorithmsOfCurves, curve) ? algorithmsOfCurves[curve] : undefined;
    if (algorithm === undefined) throw new Error(`a token key may not be on curve ${curve}: use P-256, P-384 or P-521`);
    return algorithm;
  }
  if (type !== "rsa") throw new Error(`a token key may not be of type ${type}: use EC, RSA or Ed25519`);
  if (modulusLength === undefined || modulusLength < minimumRsaBits || modulusLength > maximumRsaBits) {
    throw new Error(`an RSA token key must have ${minimumRsaBits} to ${maximumRsaBits} bits, not ${modulusLength}`);
  }
  return "RS256";
}
