import { createHash, createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { generatePrivateKey, publicKeyInfoOf } from "../../../pki/keys/keys.ts";
import type { KeyType } from "../../../pki/keys/keys.ts";
import type { MaybePromise } from "../../../machinery/api/maybe-promise.ts";
import { minimumRsaBits } from "../../../pki/keys/public-key.ts";
import type { CurveName, PublicKeyInfo } from "../../../pki/keys/public-key.ts";

/** A public key for verifying tokens. */
export interface VerificationKey {
  /** base64url of the SHA-256 of the SubjectPublicKeyInfo, as in upstream. An external signer names its keys itself. */
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  /** The published form (RFC 7517): public members only. */
  readonly jwk: Readonly<Record<string, unknown>>;
  /** Whether relying parties do not get the key, which verifies tokens only here. Default: false. */
  readonly isUnpublished?: boolean;
  /** Whether this key made `signature` over `data`. Never throws. */
  verifies(data: Uint8Array, signature: Uint8Array): boolean;
}

/** A private key for signing tokens, with its public key. */
export interface TokenSigningKey extends VerificationKey {
  /**
   * Signs data; the signature is in the form that tokens have (RFC 7518 section 3.4). A key in this process signs synchronously: ES256
   * takes about 30 µs, less than a round trip through the thread pool.
   */
  sign(data: Uint8Array): MaybePromise<Buffer>;
}

const keyTypes = {
  ES256: "ECDSA P-256",
  ES384: "ECDSA P-384",
  RS256: "RSA 2048",
  EdDSA: "Ed25519",
} as const satisfies Partial<Record<SigningAlgorithm, KeyType>>;

/** The algorithms for which a server can make keys. */
export type GeneratedAlgorithm = keyof typeof keyTypes;

/** Creates a key as PKCS #8 PEM. */
export const generateTokenSigningKeyPem = (algorithm: GeneratedAlgorithm): string =>
  generatePrivateKey(keyTypes[algorithm]).export({ type: "pkcs8", format: "pem" });

/**
 * Parses a private key in PEM (PKCS #8, SEC 1 or PKCS #1). Throws an Error for anything else. The message never quotes
 * the text.
 */
export function parseTokenSigningKey(pem: string): TokenSigningKey {
  const privateKey = parseKey(() => createPrivateKey(pem), "it contains no PEM private key");
  const verification = verificationKeyOf(createPublicKey(privateKey));
  const digest = digests[verification.algorithm];
  const key = { key: privateKey, dsaEncoding: "ieee-p1363" as const };
  return { ...verification, sign: (data) => sign(digest, data, key) };
}

const pemBlock = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g;
const keyLabels = new Set([
  "PUBLIC KEY",
  "RSA PUBLIC KEY",
  "PRIVATE KEY",
  "EC PRIVATE KEY",
  "RSA PRIVATE KEY",
  "CERTIFICATE",
]);

/**
 * Parses every key of a PEM file, in order: public keys, certificates, and private keys, of which only the public half
 * is kept. Skips EC parameters. Throws an Error when there is no key, or one is unusable.
 */
export function parseVerificationKeys(pem: string): VerificationKey[] {
  const blocks = [...pem.matchAll(pemBlock)].filter(([, label]) => keyLabels.has(label ?? ""));
  if (blocks.length === 0) throw new Error("it contains no PEM key");
  return blocks.map(([block]) =>
    verificationKeyOf(parseKey(() => createPublicKey(block), "it contains a PEM key that cannot be parsed")),
  );
}

/** The keys without duplicates, in order of first appearance. */
export function distinctKeys(keys: readonly VerificationKey[]): VerificationKey[] {
  const seen = new Set<string>();
  return keys.filter(({ jwk }) => {
    const text = JSON.stringify(jwk);
    return !seen.has(text) && seen.add(text);
  });
}

/** The verification key of a public key. Throws an Error with the reason for a key that may not sign tokens. */
export function verificationKeyOf(publicKey: KeyObject, givenId?: string): VerificationKey {
  const info = publicKeyInfoOf(publicKey);
  const algorithm = algorithmOf(info);
  if (info.weakness !== undefined) throw new Error(`a token key must be fit for use: ${info.weakness}`);
  const digest = digests[algorithm];
  const key = { key: publicKey, dsaEncoding: "ieee-p1363" as const };
  const kid = givenId ?? createHash("sha256").update(info.spki).digest("base64url");
  return {
    kid,
    algorithm,
    jwk: { use: "sig", ...publicKey.export({ format: "jwk" }), kid, alg: algorithm },
    verifies(data, signature) {
      try {
        return verify(digest, data, key, signature);
      } catch {
        return false; // for some malformed signatures, OpenSSL throws instead of returning false
      }
    },
  };
}

/** Runs a parser whose own error messages could contain key material. */
function parseKey(parse: () => KeyObject, message: string): KeyObject {
  try {
    return parse();
  } catch {
    throw new Error(message);
  }
}

/** A JWS algorithm (RFC 7518 section 3.1, RFC 8037) for signing tokens. HMAC and `none` are not allowed. */
type SigningAlgorithm = "ES256" | "ES384" | "ES512" | "RS256" | "EdDSA";

/** The digest of each algorithm for node:crypto. Null when the digest is part of the algorithm. */
const digests: Readonly<Record<SigningAlgorithm, string | null>> = {
  ES256: "sha256",
  ES384: "sha384",
  ES512: "sha512",
  RS256: "sha256",
  EdDSA: null,
};

const algorithmsOfCurves = new Map<CurveName | undefined, SigningAlgorithm>([
  ["P-256", "ES256"],
  ["P-384", "ES384"],
  ["P-521", "ES512"],
]);

/**
 * The algorithm of a key: each type of key has only one. Throws an Error with the reason for a key that is too small, or of another type.
 */
function algorithmOf({ algorithm, curve, sizeBits }: PublicKeyInfo): SigningAlgorithm {
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
