import { sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { encodeElement, encodeObjectIdentifier, encodeSequence } from "./der-writer.ts";
import { tags } from "./der.ts";
import { oids } from "./object-identifiers.ts";
import { PkiError } from "./pki-error.ts";

/** How a private key signs: the AlgorithmIdentifier to write, and the hash to pass to node:crypto. */
export interface SignatureScheme {
  /** The whole AlgorithmIdentifier. */
  readonly algorithmIdentifier: Buffer;
  readonly hash: "sha256" | "sha384" | "sha512" | null;
}

const scheme = (oid: string, hash: SignatureScheme["hash"], parameters: Buffer = Buffer.alloc(0)): SignatureScheme => ({
  algorithmIdentifier: encodeSequence(encodeObjectIdentifier(oid), parameters),
  hash,
});

const ed25519 = scheme(oids.ed25519, null);
const rsa = scheme(oids.sha256WithRsa, "sha256", encodeElement(tags.null));
const ecdsaByCurve = new Map([
  ["prime256v1", scheme(oids.ecdsaWithSha256, "sha256")],
  ["secp384r1", scheme(oids.ecdsaWithSha384, "sha384")],
  ["secp521r1", scheme(oids.ecdsaWithSha512, "sha512")],
]);

/**
 * The signature scheme for a key: SHA-256 for RSA, the hash that matches the curve's size for ECDSA. Throws PkiError
 * for other keys.
 */
export function signatureSchemeOf(privateKey: KeyObject): SignatureScheme {
  const known = knownSchemes.get(privateKey);
  if (known !== undefined) return known;
  const { asymmetricKeyType, asymmetricKeyDetails } = privateKey;
  const found =
    asymmetricKeyType === "ed25519"
      ? ed25519
      : asymmetricKeyType === "rsa"
        ? rsa
        : asymmetricKeyType === "ec"
          ? ecdsaByCurve.get(asymmetricKeyDetails?.namedCurve ?? "")
          : undefined;
  if (found === undefined) throw new PkiError("x509: only RSA, ECDSA and Ed25519 keys supported");
  knownSchemes.set(privateKey, found);
  return found;
}

/** Asking a key for its details costs a tenth of a signature. */
const knownSchemes = new WeakMap<KeyObject, SignatureScheme>();

/** The signature over `data`: DER for ECDSA, PKCS #1 v1.5 for RSA. */
export const signData = (data: Buffer, privateKey: KeyObject): Buffer =>
  sign(signatureSchemeOf(privateKey).hash, data, privateKey);
