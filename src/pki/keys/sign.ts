import { sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { encodeObjectIdentifier, encodeSequence, encodedNull } from "../der/der-writer.ts";
import type { CurveName, PublicKeyInfo } from "./public-key.ts";
import { oids } from "../der/object-identifiers.ts";
import { publicKeyInfoOf } from "./keys.ts";
import { PkiError } from "../pki-error.ts";

/** How a private key signs: the AlgorithmIdentifier to write, and the hash to pass to node:crypto. */
export interface SignatureScheme {
  /** The whole AlgorithmIdentifier. */
  readonly algorithmIdentifier: Buffer;
  readonly hash: "sha256" | "sha384" | "sha512" | null;
}

const scheme = (
  oid: string,
  { hash, parameters = Buffer.alloc(0) }: { readonly hash: SignatureScheme["hash"]; readonly parameters?: Buffer },
): SignatureScheme => ({
  algorithmIdentifier: encodeSequence(encodeObjectIdentifier(oid), parameters),
  hash,
});

const ed25519 = scheme(oids.ed25519, { hash: null });
const rsa = scheme(oids.sha256WithRsa, { hash: "sha256", parameters: encodedNull });
const ecdsaByCurve = new Map<CurveName | undefined, SignatureScheme>([
  ["P-256", scheme(oids.ecdsaWithSha256, { hash: "sha256" })],
  ["P-384", scheme(oids.ecdsaWithSha384, { hash: "sha384" })],
  ["P-521", scheme(oids.ecdsaWithSha512, { hash: "sha512" })],
]);
/**
 * The signature scheme for a key: SHA-256 for RSA, the hash that matches the curve's size for ECDSA. Throws PkiError
 * for other keys.
 */
export function signatureSchemeOf(privateKey: KeyObject): SignatureScheme {
  const known = knownSchemes.get(privateKey);
  if (known !== undefined) return known;
  const found = signatureSchemeFor(publicKeyInfoOf(privateKey));
  knownSchemes.set(privateKey, found);
  return found;
}

/** The signature scheme for the private key of a public key. Throws PkiError as `signatureSchemeOf`. */
export function signatureSchemeFor({ algorithm, curve }: Pick<PublicKeyInfo, "algorithm" | "curve">): SignatureScheme {
  const found =
    algorithm === "Ed25519"
      ? ed25519
      : algorithm === "RSA"
        ? rsa
        : algorithm === "ECDSA"
          ? ecdsaByCurve.get(curve)
          : undefined;
  if (found === undefined) throw new PkiError("x509: only RSA, P-256, P-384, P-521 and Ed25519 keys can sign here");
  return found;
}

/** The schemes of keys, which are needed for each signature. Reading the public half of a key can take longer than a signature. */
const knownSchemes = new WeakMap<KeyObject, SignatureScheme>();

/** Signs `data`. The signature is DER for ECDSA, and PKCS #1 v1.5 for RSA. */
export const signData = (data: Buffer, privateKey: KeyObject): Buffer =>
  sign(signatureSchemeOf(privateKey).hash, data, privateKey);
