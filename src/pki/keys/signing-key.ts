import { KeyObject, sign } from "node:crypto";
import { encodeBitString, encodeSequence, encodeUnsignedInteger } from "../der/der-writer.ts";
import { publicKeyInfoOf } from "./keys.ts";
import type { PublicKeyInfo } from "./public-key.ts";
import { signatureSchemeFor, signatureSchemeOf, signData } from "./sign.ts";

/**
 * A private key that signs. This is all that Signet needs of a place for keys. Keys are in this process (below) or in a PKCS #11 token
 * (`machinery/pkcs11`). To add a place, implement this interface, open its keys where `isPkcs11Uri` is used, and add a line to the contract
 * in `test/pki/keys/signing-key-contract.ts`.
 */
export interface SigningKey {
  /** Never changes: a new key is a new object. */
  readonly publicKey: PublicKeyInfo;
  /**
   * Signs `data` with the only algorithm of the key: PKCS #1 v1.5 with SHA-256 for RSA; ECDSA with the hash that matches the curve (P-256:
   * SHA-256, P-384: SHA-384, P-521: SHA-512); Ed25519. An ECDSA signature is r and s, each as long as the curve's field (IEEE P1363),
   * because PKCS #11 tokens return this form; `sealX509` converts it for certificates.
   *
   * May be called concurrently. Rejects with KeyUnavailable within a bounded time when the key can't be used now; a later call may succeed.
   * Must not block the process for longer than a signature takes.
   */
  sign(data: Uint8Array): Buffer | Promise<Buffer>;
}

/** The key can't be used now. The message tells an operator why, and contains no secret. */
export class KeyUnavailable extends Error {
  override readonly name = "KeyUnavailable";
}

/** A key in this process, or a key that may be outside it. */
export type AuthorityKey = KeyObject | SigningKey;

/** Wraps a key of this process as a SigningKey, which signs synchronously. */
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

/**
 * Signs the first part of a certificate or of a revocation list, and encodes it with the signature's algorithm and the signature (RFC 5280
 * 4.1.1). Rejects with KeyUnavailable.
 */
export async function sealX509(toBeSigned: Buffer, key: SigningKey): Promise<Buffer> {
  const { algorithmIdentifier } = signatureSchemeFor(key.publicKey);
  const signature = await key.sign(toBeSigned);
  const inX509 = key.publicKey.algorithm === "ECDSA" ? ecdsaSignatureValue(signature) : signature;
  return encodeSequence(toBeSigned, algorithmIdentifier, encodeBitString(inX509));
}

/**
 * Signs like `sealX509` with a key of this process, also a request (RFC 2986 4.2). Synchronous, because nearly all of its time is the
 * signature.
 */
export const sealX509AtOnce = (toBeSigned: Buffer, privateKey: KeyObject): Buffer =>
  encodeSequence(
    toBeSigned,
    signatureSchemeOf(privateKey).algorithmIdentifier,
    encodeBitString(signData(toBeSigned, privateKey)),
  );

/** Encodes the two numbers of an ECDSA signature as a SEQUENCE (RFC 3279 2.2.3). */
function ecdsaSignatureValue(signature: Buffer): Buffer {
  const half = signature.length / 2;
  return encodeSequence(
    encodeUnsignedInteger(signature.subarray(0, half)),
    encodeUnsignedInteger(signature.subarray(half)),
  );
}
