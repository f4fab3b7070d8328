import { isNull, parseAlgorithmIdentifier } from "../der/algorithm-identifier.ts";
import type { AlgorithmIdentifier } from "../der/algorithm-identifier.ts";
import { contextTag, DerReader, tags } from "../der/der.ts";
import { oids } from "../der/object-identifiers.ts";
import { PkiError } from "../pki-error.ts";
import type { PublicKeyAlgorithm } from "./public-key.ts";

export interface SignatureAlgorithm {
  /** Go's name, such as `ECDSA-SHA256`. */
  readonly name: string;
  readonly keyAlgorithm: PublicKeyAlgorithm;
  /** node:crypto's name; null when the scheme includes its own hash (Ed25519). */
  readonly hash: "md5" | "sha1" | "sha256" | "sha384" | "sha512" | null;
  readonly isPss: boolean;
}

const rsa = (name: string, hash: SignatureAlgorithm["hash"]): SignatureAlgorithm => ({
  name,
  keyAlgorithm: "RSA",
  hash,
  isPss: false,
});
const ecdsa = (name: string, hash: SignatureAlgorithm["hash"]): SignatureAlgorithm => ({
  name,
  keyAlgorithm: "ECDSA",
  hash,
  isPss: false,
});

const algorithms = new Map<string, SignatureAlgorithm>([
  [oids.md5WithRsa, rsa("MD5-RSA", "md5")],
  [oids.sha1WithRsa, rsa("SHA1-RSA", "sha1")],
  [oids.isoSha1WithRsa, rsa("SHA1-RSA", "sha1")],
  [oids.sha256WithRsa, rsa("SHA256-RSA", "sha256")],
  [oids.sha384WithRsa, rsa("SHA384-RSA", "sha384")],
  [oids.sha512WithRsa, rsa("SHA512-RSA", "sha512")],
  [oids.ecdsaWithSha1, ecdsa("ECDSA-SHA1", "sha1")],
  [oids.ecdsaWithSha256, ecdsa("ECDSA-SHA256", "sha256")],
  [oids.ecdsaWithSha384, ecdsa("ECDSA-SHA384", "sha384")],
  [oids.ecdsaWithSha512, ecdsa("ECDSA-SHA512", "sha512")],
  [oids.ed25519, { name: "Ed25519", keyAlgorithm: "Ed25519", hash: null, isPss: false }],
]);

/** The signature algorithm of an identifier. Undefined for an algorithm that Go does not verify (DSA, Ed448, unusual PSS parameters). */
export function signatureAlgorithmOf(identifier: AlgorithmIdentifier): SignatureAlgorithm | undefined {
  if (identifier.algorithm === oids.rsassaPss) return pssAlgorithm(identifier.parameters);
  if (identifier.algorithm === oids.ed25519 && identifier.parameters.length > 0) return undefined;
  return algorithms.get(identifier.algorithm);
}

const pssHashes = new Map<string, { readonly hash: "sha256" | "sha384" | "sha512"; readonly saltOctets: number }>([
  [oids.sha256, { hash: "sha256", saltOctets: 32 }],
  [oids.sha384, { hash: "sha384", saltOctets: 48 }],
  [oids.sha512, { hash: "sha512", saltOctets: 64 }],
]);

/** Accepts PSS only as Go does: MGF1 with the message's hash, a salt as long as the hash, the default trailer. */
function pssAlgorithm(parameters: Buffer): SignatureAlgorithm | undefined {
  try {
    const reader = new DerReader(parameters).readSequence("pssParameters");
    const hash = readExplicitAlgorithm(reader, 0);
    const maskGeneration = readExplicitAlgorithm(reader, 1);
    const saltOctets = readExplicitInteger(reader, 2);
    const trailer = reader.isAtEnd ? 1 : readExplicitInteger(reader, 3);
    reader.expectEnd();
    const maskHash = parseAlgorithmIdentifier(new DerReader(maskGeneration.parameters).read(tags.sequence, ""));
    const known = pssHashes.get(hash.algorithm);
    const hasPlainHashes = [hash, maskHash].every((one) => one.parameters.length === 0 || isNull(one.parameters));
    return known !== undefined &&
      hasPlainHashes &&
      maskGeneration.algorithm === oids.mgf1 &&
      maskHash.algorithm === hash.algorithm &&
      saltOctets === known.saltOctets &&
      trailer === 1
      ? { name: `${known.hash.toUpperCase()}-RSAPSS`, keyAlgorithm: "RSA", hash: known.hash, isPss: true }
      : undefined;
  } catch (error) {
    if (error instanceof PkiError) return undefined;
    throw error;
  }
}

const readExplicitAlgorithm = (reader: DerReader, number: number): AlgorithmIdentifier =>
  parseAlgorithmIdentifier(
    new DerReader(reader.read(contextTag(number, "constructed"), "")).read(tags.sequence, "AlgorithmIdentifier"),
  );

const readExplicitInteger = (reader: DerReader, number: number): number =>
  new DerReader(reader.read(contextTag(number, "constructed"), "")).readSmallInteger();
