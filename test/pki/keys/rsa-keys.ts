import { createPrivateKey, createPublicKey, generateKeyPairSync, generatePrimeSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import {
  encodeBitString,
  encodeElement,
  encodeObjectIdentifier,
  encodeSequence,
  encodeUnsignedInteger,
} from "../../../src/pki/der/der-writer.ts";
import { tags } from "../../../src/pki/der/der.ts";
import { oids } from "../../../src/pki/der/object-identifiers.ts";

const octetsOf = (value: bigint): Buffer => {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
};
const base64url = (value: bigint): string => octetsOf(value).toString("base64url");
const numberOf = (text: string | undefined): bigint =>
  BigInt(`0x${Buffer.from(text ?? "", "base64url").toString("hex")}`);

/** The SubjectPublicKeyInfo of an RSA key with the given two numbers. */
export const rsaPublicKeyInfo = (modulus: bigint, exponent: bigint): Buffer =>
  encodeSequence(
    encodeSequence(encodeObjectIdentifier(oids.rsaEncryption), encodeElement(tags.null)),
    encodeBitString(
      encodeSequence(encodeUnsignedInteger(octetsOf(modulus)), encodeUnsignedInteger(octetsOf(exponent))),
    ),
  );

/** A modulus with unknown factors: odd, and of exactly this many bits. */
export const rsaModulus = (bits: number): bigint => (1n << BigInt(bits - 1)) + 1n;

/** An RSA key of 2048 bits with exponent 1: a signature is only the padded digest, so everyone can forge one. */
export function forgeableRsaKey(): KeyObject {
  const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
  return createPrivateKey({ format: "jwk", key: { ...key, e: "AQ", d: "AQ", dp: "AQ", dq: "AQ" } });
}

/** A good RSA key of a few bits less than `bits` (at most 16384), made of many small primes: there at once. */
export function hugeRsaKey(bits: number): KeyObject {
  const exponent = 65_537n;
  const half = (): { value: bigint; inverse: bigint; order: bigint } => {
    for (;;) {
      const primes = Array.from({ length: bits / 1024 }, () => generatePrimeSync(512, { bigint: true }));
      const value = primes.reduce((product, prime) => product * prime, 1n);
      const order = primes.reduce((product, prime) => product * (prime - 1n), 1n);
      const inverse = inverseOf(exponent, order);
      if (inverse !== undefined) return { value, inverse, order };
    }
  };
  const p = half();
  const q = half();
  const d = inverseOf(exponent, p.order * q.order) ?? 0n;
  return createPrivateKey({
    format: "jwk",
    key: {
      kty: "RSA",
      n: base64url(p.value * q.value),
      e: base64url(exponent),
      d: base64url(d),
      p: base64url(p.value),
      q: base64url(q.value),
      dp: base64url(p.inverse),
      dq: base64url(q.inverse),
      qi: base64url(inverseOf(q.value, p.value) ?? 0n),
    },
  });
}

function inverseOf(value: bigint, modulus: bigint): bigint | undefined {
  let [low, high, factor, next] = [value % modulus, modulus, 1n, 0n];
  while (low > 0n) [low, high, factor, next] = [high % low, low, next - (high / low) * factor, factor];
  return high === 1n ? ((next % modulus) + modulus) % modulus : undefined;
}

/** The modulus of a key. */
export const modulusOf = (key: KeyObject): bigint => numberOf(createPublicKey(key).export({ format: "jwk" })["n"]);
