import { KeyObject, sign } from "node:crypto";
import { encodeBitString, encodeSequence, encodeUnsignedInteger } from "../der/der-writer.ts";
import { publicKeyInfoOf } from "./keys.ts";
import type { PublicKeyInfo } from "./public-key.ts";
import { signatureSchemeFor, signatureSchemeOf, signData } from "./sign.ts";

/**
 * A private key that signs: all that Signet needs of a place for keys. Keys are in this process (below) or
 * in a token that speaks PKCS #11 (`machinery/pkcs11`). To add one: implement this, open it where `isPkcs11Uri` is used,
 * and join the contract in `test/pki/keys/signing-key-contract.ts` with a line.
 */
export interface SigningKey {
  /** Fixed: another key is another object. */
  readonly publicKey: PublicKeyInfo;
  /**
   * The signature over `data` by the only algorithm of the key: PKCS #1 v1.5 with SHA-256 for RSA; for ECDSA the hash that
   * matches the curve (P-256: SHA-256, P-384: SHA-384, P-521: SHA-512); Ed25519. An ECDSA signature is r and s, each as
   * long as the curve's field (IEEE P1363), which is what tokens have; `sealX509` makes the form of certificates of it.
   *
   * May be called many times at once. Rejects with KeyUnavailable within a bounded time when the key can't be used now; a
   * later call may succeed. Must not block the process for longer than a signature takes.
   */
  sign(data: Uint8Array): Buffer | Promise<Buffer>;
}

/** The key can't be used now. The message tells an operator why, and holds no secret. */
export class KeyUnavailable extends Error {
  override readonly name = "KeyUnavailable";
}

/** A key in this process, or one elsewhere. */
export type AuthorityKey = KeyObject | SigningKey;

/** A key of this process as any other. It signs at once. */
export function keyInProcess(privateKey: KeyObject): SigningKey {
  const { hash } = signatureSchemeOf(privateKey);
  const key = { key: privateKey, dsaEncoding: "ieee-p1363" as const };
  return { publicKey: publicKeyInfoOf(privateKey), sign: (data) => sign(hash, data, key) };
}

const keysInProcess = new WeakMap<KeyObject, SigningKey>();

export function signingKeyOf(key: AuthorityKey): SigningKey {
  if (!(key instanceof KeyObject)) return key;
  const known = keysInProcess.get(key) ?? keyInProcess(key);
  keysInProcess.set(key, known);
  return known;
}

/** Signs the first part of a certificate or of a revocation list, and puts the three parts together (RFC 5280 4.1.1). */
export async function sealX509(toBeSigned: Buffer, key: SigningKey): Promise<Buffer> {
  const { algorithmIdentifier } = signatureSchemeFor(key.publicKey);
  const signature = await key.sign(toBeSigned);
  const inX509 = key.publicKey.algorithm === "ECDSA" ? ecdsaSignatureValue(signature) : signature;
  return encodeSequence(toBeSigned, algorithmIdentifier, encodeBitString(inX509));
}

/** The same with a key of this process, also for a request (RFC 2986 4.2). Synchronous: nearly all of its time is the signature. */
export const sealX509AtOnce = (toBeSigned: Buffer, privateKey: KeyObject): Buffer =>
  encodeSequence(
    toBeSigned,
    signatureSchemeOf(privateKey).algorithmIdentifier,
    encodeBitString(signData(toBeSigned, privateKey)),
  );

/** RFC 3279 2.2.3: the two numbers of an ECDSA signature as a SEQUENCE. */
function ecdsaSignatureValue(signature: Buffer): Buffer {
  const half = signature.length / 2;
  return encodeSequence(
    encodeUnsignedInteger(signature.subarray(0, half)),
    encodeUnsignedInteger(signature.subarray(half)),
  );
}
