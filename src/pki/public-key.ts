import { createPublicKey } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { isNull, parseAlgorithmIdentifier } from "./algorithm-identifier.ts";
import { DerReader, tags } from "./der.ts";
import { curveOf, pointFault, type CurveName } from "./elliptic-curve.ts";
import { oids } from "./object-identifiers.ts";
import { PkiError } from "./pki-error.ts";

/** `other` is a key that is well-formed and that no signature can be checked with. */
export type PublicKeyAlgorithm = "RSA" | "ECDSA" | "Ed25519" | "other";

/** What a SubjectPublicKeyInfo says about its key. */
export interface PublicKeyInfo {
  readonly algorithm: PublicKeyAlgorithm;
  /** Bits of the modulus or the field; 0 for `other`. */
  readonly sizeBits: number;
  readonly curve?: CurveName;
  /** The whole SubjectPublicKeyInfo. */
  readonly spki: Buffer;
  /** The content of its BIT STRING: what key identifiers are made of (RFC 5280 4.2.1.2). */
  readonly keyBytes: Buffer;
}

/** The largest modulus that OpenSSL verifies with; larger ones would only cost time. */
const maximumRsaBits = 16_384;

/** Reads a SubjectPublicKeyInfo from its whole encoding, with Go's strictness. Throws PkiError. */
export function parsePublicKeyInfo(spki: Buffer): PublicKeyInfo {
  const outer = new DerReader(spki);
  const reader = outer.readSequence("publicKeyInfo");
  outer.expectEnd();
  const { algorithm, parameters } = parseAlgorithmIdentifier(reader.read(tags.sequence, "AlgorithmIdentifier"));
  const { bytes: keyBytes, unusedBits } = reader.readBitString();
  reader.expectEnd();
  if (unusedBits !== 0) throw new PkiError("x509: malformed subjectPublicKey");
  switch (algorithm) {
    case oids.rsaEncryption:
      if (!isNull(parameters)) throw new PkiError("x509: RSA key missing NULL parameters");
      return { algorithm: "RSA", sizeBits: rsaModulusBits(keyBytes), spki, keyBytes };
    case oids.ecPublicKey: {
      const curve = namedCurve(parameters);
      if (curve === undefined) throw new PkiError("x509: unsupported elliptic curve");
      const fault = pointFault(curve, keyBytes);
      if (fault !== undefined) throw new PkiError(fault);
      return { algorithm: "ECDSA", sizeBits: curve.sizeBits, curve: curve.name, spki, keyBytes };
    }
    case oids.ed25519:
      if (parameters.length > 0) throw new PkiError("x509: Ed25519 key encoded with illegal parameters");
      if (keyBytes.length !== 32) throw new PkiError("x509: wrong Ed25519 public key size");
      return { algorithm: "Ed25519", sizeBits: 256, spki, keyBytes };
    default:
      return { algorithm: "other", sizeBits: 0, spki, keyBytes };
  }
}

function namedCurve(parameters: Buffer): ReturnType<typeof curveOf> {
  if (parameters[0] !== tags.objectIdentifier) throw new PkiError("x509: invalid ECDSA parameters");
  return curveOf(new DerReader(parameters).readObjectIdentifier());
}

/** Checks an RSAPublicKey (RFC 8017 A.1.1) and returns the size of its modulus; nothing here costs more than its octets. */
function rsaModulusBits(encoded: Buffer): number {
  const outer = new DerReader(encoded);
  if (outer.nextTag !== tags.sequence) throw new PkiError("x509: invalid RSA public key");
  const reader = outer.readSequence("pkcs1PublicKey");
  outer.expectEnd();
  const modulus = reader.readInteger();
  const exponent = reader.readInteger();
  reader.expectEnd();
  if (isNegative(modulus) || bitLength(modulus) === 0) {
    throw new PkiError("x509: RSA modulus is not a positive number");
  }
  if (isNegative(exponent) || bitLength(exponent) === 0) {
    throw new PkiError("x509: RSA public exponent is not a positive number");
  }
  if (bitLength(exponent) > 31) throw new PkiError("crypto/rsa: public exponent too large");
  if (bitLength(modulus) > maximumRsaBits) {
    throw new PkiError(`x509: RSA modulus is larger than ${maximumRsaBits} bits`);
  }
  return bitLength(modulus);
}

const isNegative = (integer: Buffer): boolean => (integer[0] ?? 0) >= 0x80;

function bitLength(integer: Buffer): number {
  const magnitude = integer[0] === 0 ? integer.subarray(1) : integer;
  const first = magnitude[0];
  return first === undefined ? 0 : magnitude.length * 8 - Math.clz32(first) + 24;
}

/** The key for node:crypto. Throws PkiError when OpenSSL refuses the key. */
export function importPublicKey(info: PublicKeyInfo): KeyObject {
  const known = importedKeys.get(info);
  if (known !== undefined) return known;
  try {
    const key = createPublicKey({ key: info.spki, format: "der", type: "spki" });
    importedKeys.set(info, key);
    return key;
  } catch {
    throw new PkiError("x509: invalid public key");
  }
}

/** Importing costs as much as half a verification, and a CA's key verifies often. */
const importedKeys = new WeakMap<PublicKeyInfo, KeyObject>();
