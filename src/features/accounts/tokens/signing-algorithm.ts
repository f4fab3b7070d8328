import type { CurveName } from "../../../pki/elliptic-curve.ts";
import type { PublicKeyInfo } from "../../../pki/public-key.ts";

/** A JWS algorithm (RFC 7518 section 3.1, RFC 8037) for signing tokens. HMAC and `none` are not allowed. */
export type SigningAlgorithm = "ES256" | "ES384" | "ES512" | "RS256" | "EdDSA";

interface AlgorithmParameters {
  /** The digest; null when it is part of the algorithm. */
  readonly digest: string | null;
  /** The exact length of a signature in bytes. Absent when it depends on the key. */
  readonly signatureBytes?: number;
}

/** The parameters of each algorithm for node:crypto. */
export const algorithmParameters: Readonly<Record<SigningAlgorithm, AlgorithmParameters>> = {
  ES256: { digest: "sha256", signatureBytes: 64 },
  ES384: { digest: "sha384", signatureBytes: 96 },
  ES512: { digest: "sha512", signatureBytes: 132 },
  RS256: { digest: "sha256" },
  EdDSA: { digest: null, signatureBytes: 64 },
};

const algorithmsOfCurves = new Map<CurveName | undefined, SigningAlgorithm>([
  ["P-256", "ES256"],
  ["P-384", "ES384"],
  ["P-521", "ES512"],
]);

const minimumRsaBits = 2048;

/** The only algorithm for a key. Throws an Error with the reason when the key may not sign tokens. */
export function algorithmOf(key: PublicKeyInfo): SigningAlgorithm {
  const algorithm = algorithmFor(key);
  if (key.weakness !== undefined) throw new Error(`a token key must be fit for use: ${key.weakness}`);
  return algorithm;
}

function algorithmFor({ algorithm, curve, sizeBits }: PublicKeyInfo): SigningAlgorithm {
  switch (algorithm) {
    case "Ed25519":
      return "EdDSA";
    case "ECDSA": {
      const ofCurve = algorithmsOfCurves.get(curve);
      if (ofCurve === undefined) throw new Error(`a token key may not be on curve ${curve}: use P-256, P-384 or P-521`);
      return ofCurve;
    }
    case "RSA":
      if (sizeBits < minimumRsaBits) {
        throw new Error(`an RSA token key must have at least ${minimumRsaBits} bits, not ${sizeBits}`);
      }
      return "RS256";
    case "other":
      throw new Error("a token key may not be of this type: use EC, RSA or Ed25519");
  }
}
