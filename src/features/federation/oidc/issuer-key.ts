import { constants, createPublicKey, verify } from "node:crypto";
import type { VerifyKeyObjectInput, webcrypto } from "node:crypto";
import { publicKeyInfoOf } from "../../../pki/keys/keys.ts";
import { minimumRsaBits } from "../../../pki/keys/public-key.ts";
import type { PublicKeyInfo } from "../../../pki/keys/public-key.ts";

/** Signature algorithms of JWTs that other issuers use (RFC 7518 section 3.1, RFC 8037). Never HMAC or `none`. */
export type JwsAlgorithm =
  | "RS256"
  | "RS384"
  | "RS512"
  | "ES256"
  | "ES384"
  | "ES512"
  | "PS256"
  | "PS384"
  | "PS512"
  | "EdDSA";

export interface IssuerKey {
  readonly kid: string | undefined;
  /** The algorithms that the key may sign with. */
  readonly algorithms: readonly string[];
  /** Whether this key made the signature of the data by the algorithm. Never throws. */
  verifies(data: Uint8Array, by: { readonly algorithm: string; readonly signature: Uint8Array }): boolean;
}

/**
 * Reads a JWK (RFC 7517). Undefined for keys that cannot verify tokens: of other types, for other uses, symmetric, or too weak. An issuer
 * may publish such keys beside others, so they are not a fault.
 */
export function parseIssuerKey(jwk: unknown): IssuerKey | undefined {
  if (typeof jwk !== "object" || jwk === null) return undefined;
  const { kid, use, key_ops: operations, alg, kty, d } = jwk as webcrypto.JsonWebKey & { readonly kid?: unknown }; // the values are checked below, or by OpenSSL
  if ((use !== undefined && use !== "sig") || (kid !== undefined && typeof kid !== "string")) return undefined;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify"))) return undefined;
  if (kty === "oct" || d !== undefined) return undefined;
  try {
    const key = createPublicKey({ key: jwk, format: "jwk" });
    const info = publicKeyInfoOf(key);
    if (info.weakness !== undefined || (info.algorithm === "RSA" && info.sizeBits < minimumRsaBits)) return undefined;
    const algorithms = algorithmsOf(info).filter((one) => alg === undefined || one === alg);
    return {
      kid,
      algorithms,
      verifies(data, { algorithm, signature }) {
        const chosen = algorithms.find((one) => one === algorithm);
        if (chosen === undefined) return false;
        try {
          return verify(digestOf(chosen), data, { key, ...parametersOf(chosen) }, signature);
        } catch {
          return false; // for some malformed signatures, OpenSSL throws instead of returning false
        }
      },
    };
  } catch {
    return undefined;
  }
}

/** The algorithms that a key may sign with: the key decides, never the token alone. */
function algorithmsOf({ algorithm, curve }: PublicKeyInfo): readonly JwsAlgorithm[] {
  switch (algorithm) {
    case "RSA":
      return ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];
    case "ECDSA":
      return curve === "P-256" ? ["ES256"] : curve === "P-384" ? ["ES384"] : curve === "P-521" ? ["ES512"] : [];
    case "Ed25519":
      return ["EdDSA"];
    case "other":
      return [];
  }
}

const digestOf = (algorithm: JwsAlgorithm): string | null =>
  algorithm === "EdDSA" ? null : `sha${algorithm.slice(2)}`;

function parametersOf(algorithm: JwsAlgorithm): Omit<VerifyKeyObjectInput, "key"> {
  if (algorithm.startsWith("ES")) return { dsaEncoding: "ieee-p1363" };
  if (!algorithm.startsWith("PS")) return {};
  return { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
}
