import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { notAuthentic, tooShort } from "./value-transformer.ts";
import type { ValueTransformer } from "./value-transformer.ts";

const nonceBytes = 12;
const tagBytes = 16;
const infoBytes = 32;

/** A secret of a configuration, with its name. Stored values contain the name, so that the right secret decrypts them. */
export interface NamedKey {
  readonly name: string;
  readonly secret: Buffer;
}

/** Encrypts and decrypts values, without the prefix that names the key. */
export interface Cipher {
  seal(plain: Buffer, storageKey: string): readonly Buffer[];
  /** Throws UndecryptableValue. */
  open(sealed: Buffer, storageKey: string): Buffer;
}

/**
 * AES-GCM (128, 192 or 256 bits): nonce, ciphertext, tag. The storage key is the associated data, so that a value can't be
 * moved to another key.
 */
export function gcm(key: Buffer): Cipher {
  const algorithm = key.length === 16 ? "aes-128-gcm" : key.length === 24 ? "aes-192-gcm" : "aes-256-gcm";
  return {
    seal(plain, storageKey) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(storageKey));
      return [nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()];
    },
    open(sealed, storageKey) {
      if (sealed.length < nonceBytes + tagBytes) throw tooShort();
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
        .setAAD(Buffer.from(storageKey))
        .setAuthTag(sealed.subarray(-tagBytes));
      const plain = decipher.update(sealed.subarray(nonceBytes, -tagBytes));
      try {
        decipher.final();
      } catch {
        throw notAuthentic();
      }
      return plain; // GCM has no padding: final() returns nothing
    },
  };
}

/**
 * Each value gets a key of its own: HKDF-Expand-SHA256(seed, 32 random bytes). The random bytes are stored before the value. So the seed
 * is good for any number of writes; with one key for all, random nonces would repeat in the end (NIST SP 800-38D: 2^32 values). The
 * same construction and the same bytes as upstream's extended nonce (`NewHKDFExtendedNonceGCMTransformer`).
 */
export const derivedGcm = (seed: Buffer): Cipher => ({
  seal(plain, storageKey) {
    const info = randomBytes(infoBytes);
    return [info, ...gcm(derivedKey(seed, info)).seal(plain, storageKey)];
  },
  open(sealed, storageKey) {
    return gcm(derivedKey(seed, sealed.subarray(0, infoBytes))).open(sealed.subarray(infoBytes), storageKey);
  },
});

/** The first block of HKDF-Expand (RFC 5869, section 2.3), which is exactly as long as the key. */
const derivedKey = (seed: Buffer, info: Buffer): Buffer =>
  createHmac("sha256", seed).update(info).update(Buffer.of(1)).digest();

/** Upstream's `aesgcm`. Its nonces are random: rotate the key long before 2^32 writes. */
export const aesGcm = ({ name, secret }: NamedKey): ValueTransformer =>
  transformerOf(`k8s:enc:aesgcm:v1:${name}:`, gcm(secret));

/** Signet's own `aesgcmderived`: AES-256-GCM with a derived key for each value. */
export const derivedAesGcm = ({ name, secret }: NamedKey): ValueTransformer =>
  transformerOf(`signet:enc:aesgcmderived:v1:${name}:`, derivedGcm(secret));

export function transformerOf(prefix: string, { seal, open }: Cipher): ValueTransformer {
  const prefixBytes = Buffer.from(prefix);
  return {
    prefix,
    encrypt: (plain, storageKey) => Buffer.concat([prefixBytes, ...seal(plain, storageKey)]),
    decrypt: (stored, storageKey) => ({
      plain: open(stored.subarray(prefixBytes.length), storageKey),
      isStale: false,
    }),
  };
}
