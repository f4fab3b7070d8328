import { createPublicKey } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { isNull, parseAlgorithmIdentifier } from "../der/algorithm-identifier.ts";
import { DerReader, soleSequence, tags } from "../der/der.ts";
import { oids } from "../der/object-identifiers.ts";
import { PkiError } from "../pki-error.ts";

/** `other` is a well-formed key of a kind that cannot verify signatures here. */
export type PublicKeyAlgorithm = "RSA" | "ECDSA" | "Ed25519" | "other";

export interface PublicKeyInfo {
  readonly algorithm: PublicKeyAlgorithm;
  /** Bits of the modulus or the field; 0 for `other`. */
  readonly sizeBits: number;
  readonly curve?: CurveName;
  /**
   * Why this key must not verify signatures: anyone could forge them, the key is too small, or it is so large that a
   * check costs too much. The words are Go's where Go refuses the key too. Absent for a usable key.
   */
  readonly weakness?: string;
  /** The whole SubjectPublicKeyInfo. */
  readonly spki: Buffer;
  /** The content of its BIT STRING. Key identifiers are made from it (RFC 5280 4.2.1.2). */
  readonly keyBytes: Buffer;
}

/** A larger modulus is refused by the parser, because OpenSSL cannot verify with it. */
const maximumReadableRsaBits = 16_384;
/** A larger modulus never verifies a signature, as in Go's crypto/tls, because the cost grows with the square of the size. */
const maximumRsaBits = 8192;
/** A smaller modulus never verifies a signature, as in Go's crypto/rsa. */
const minimumUsableRsaBits = 1024;
/** No certificates are issued for smaller keys, and smaller keys sign no tokens. */
export const minimumRsaBits = 2048;

/**
 * Reads a SubjectPublicKeyInfo from its whole encoding, as strictly as Go. A well-formed key that must not be used is
 * still read, as Go does: see `weakness`. Throws PkiError.
 */
export function parsePublicKeyInfo(spki: Buffer): PublicKeyInfo {
  const reader = soleSequence(spki, "publicKeyInfo");
  const { algorithm, parameters } = parseAlgorithmIdentifier(reader.read(tags.sequence, "AlgorithmIdentifier"));
  const { bytes: keyBytes, unusedBits } = reader.readBitString();
  reader.expectEnd();
  if (unusedBits !== 0) throw new PkiError("x509: malformed subjectPublicKey");
  switch (algorithm) {
    case oids.rsaEncryption:
      if (!isNull(parameters)) throw new PkiError("x509: RSA key missing NULL parameters");
      return { algorithm: "RSA", ...readRsaKey(keyBytes), spki, keyBytes };
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
      return { algorithm: "other", sizeBits: 0, weakness: "x509: unknown public key algorithm", spki, keyBytes };
  }
}

function namedCurve(parameters: Buffer): ReturnType<typeof curveOf> {
  if (parameters[0] !== tags.objectIdentifier) throw new PkiError("x509: invalid ECDSA parameters");
  return curveOf(new DerReader(parameters).readObjectIdentifier());
}

/** Reads an RSAPublicKey (RFC 8017 A.1.1) in linear time. */
function readRsaKey(encoded: Buffer): Pick<PublicKeyInfo, "sizeBits" | "weakness"> {
  if (encoded[0] !== tags.sequence) throw new PkiError("x509: invalid RSA public key");
  const reader = soleSequence(encoded, "pkcs1PublicKey");
  const modulus = reader.readInteger();
  const exponent = reader.readInteger();
  reader.expectEnd();
  if (isNegative(modulus) || bitLength(modulus) === 0) {
    throw new PkiError("x509: RSA modulus is not a positive number");
  }
  if (isNegative(exponent) || bitLength(exponent) === 0) {
    throw new PkiError("x509: RSA public exponent is not a positive number");
  }
  if (bitLength(exponent) > 63) throw new PkiError("x509: invalid RSA public exponent");
  if (bitLength(modulus) > maximumReadableRsaBits) {
    throw new PkiError(`x509: RSA modulus is larger than ${maximumReadableRsaBits} bits`);
  }
  const weakness = rsaWeakness(modulus, exponent);
  return { sizeBits: bitLength(modulus), ...(weakness !== undefined && { weakness }) };
}

/** The rules of Go's crypto/rsa `checkPublicKey`, and the largest size of crypto/tls. */
function rsaWeakness(modulus: Buffer, exponent: Buffer): string | undefined {
  const sizeBits = bitLength(modulus);
  if (sizeBits < minimumUsableRsaBits) {
    return `crypto/rsa: ${sizeBits}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)`;
  }
  if (sizeBits > maximumRsaBits) return `x509: RSA keys of more than ${maximumRsaBits} bits are not supported`;
  if (!isOdd(modulus)) return "crypto/rsa: public modulus is even";
  if (bitLength(exponent) === 1) return "crypto/rsa: public exponent too small or negative";
  if (!isOdd(exponent)) return "crypto/rsa: public exponent is even";
  return bitLength(exponent) > 31 ? "crypto/rsa: public exponent too large" : undefined;
}

const isOdd = (integer: Buffer): boolean => ((integer.at(-1) ?? 0) & 1) === 1;

const isNegative = (integer: Buffer): boolean => (integer[0] ?? 0) >= 0x80;

/**
 * The number of bits of a non-negative INTEGER. Its first octet is 0 only for the number 0, or before an octet whose highest bit is set.
 */
const bitLength = (integer: Buffer): number => integer.length * 8 - Math.clz32(integer[0] ?? 0) + 24;

/** Imports a key into node:crypto. Throws PkiError when the key has a `weakness` or OpenSSL refuses it. */
export function importPublicKey(info: PublicKeyInfo): KeyObject {
  if (info.weakness !== undefined) throw new PkiError(info.weakness);
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

/** The imported keys: an import takes half as long as a verification, and one CA key verifies many certificates. */
const importedKeys = new WeakMap<PublicKeyInfo, KeyObject>();

export type CurveName = "P-224" | "P-256" | "P-384" | "P-521";

/** y² = x³ - 3x + b over the field of p elements (SEC 2). */
interface Curve {
  readonly name: CurveName;
  readonly sizeBits: number;
  readonly p: bigint;
  readonly b: bigint;
}

const curves = new Map<string, Curve>([
  [
    oids.p224,
    {
      name: "P-224",
      sizeBits: 224,
      p: 2n ** 224n - 2n ** 96n + 1n,
      b: 0xb4050a850c04b3abf54132565044b0b7d7bfd8ba270b39432355ffb4n,
    },
  ],
  [
    oids.p256,
    {
      name: "P-256",
      sizeBits: 256,
      p: 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n,
      b: 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn,
    },
  ],
  [
    oids.p384,
    {
      name: "P-384",
      sizeBits: 384,
      p: 2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
      b: 0xb3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aefn,
    },
  ],
  [
    oids.p521,
    {
      name: "P-521",
      sizeBits: 521,
      p: 2n ** 521n - 1n,
      b: 0x051953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00n,
    },
  ],
]);

const curveOf = (objectIdentifier: string): Curve | undefined => curves.get(objectIdentifier);

/** Why octets are not an uncompressed point of the curve (SEC 1 2.3.4), in Go's words, or undefined when they are. */
function pointFault({ name, sizeBits, p, b }: Curve, point: Buffer): string | undefined {
  const size = Math.ceil(sizeBits / 8);
  const goName = name.replace("-", "");
  if (point[0] !== 4) return "ecdsa: invalid uncompressed public key";
  if (point.length !== 1 + 2 * size) return `invalid ${goName} point encoding`;
  const x = BigInt(`0x${point.toString("hex", 1, 1 + size)}`);
  const y = BigInt(`0x${point.toString("hex", 1 + size)}`);
  if (x >= p || y >= p) return `invalid ${goName} element encoding`;
  return (y * y - (x * x - 3n) * x - b) % p === 0n ? undefined : `${goName} point not on curve`;
}
