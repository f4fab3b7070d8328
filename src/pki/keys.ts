import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { decodePemBlocks, encodePem } from "./pem.ts";
import { PkiError } from "./pki-error.ts";
import { parsePublicKeyInfo, type PublicKeyInfo } from "./public-key.ts";

export type KeyType = "ECDSA P-256" | "ECDSA P-384" | "ECDSA P-521" | "RSA 2048" | "RSA 3072" | "RSA 4096" | "Ed25519";

/** Generates a private key. RSA takes up to seconds, and nothing else happens in the process meanwhile. */
export function generatePrivateKey(type: KeyType): KeyObject {
  const [family, detail = ""] = type.split(" ");
  if (family === "ECDSA") return generateKeyPairSync("ec", { namedCurve: detail }).privateKey;
  if (family === "RSA") return generateKeyPairSync("rsa", { modulusLength: Number(detail) }).privateKey;
  return generateKeyPairSync("ed25519").privateKey;
}

/** The type of a public key, in the words of `KeyType` where it is one. */
export const keyTypeOf = ({ algorithm, sizeBits, curve }: PublicKeyInfo): string =>
  algorithm === "RSA" ? `RSA ${sizeBits}` : [algorithm, curve].join(" ").trim();

const privateKeyTypes = new Set(["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"]);

/**
 * Parses the first private key of a PEM text: unencrypted PKCS #8, PKCS #1 or SEC 1. Other blocks (EC PARAMETERS,
 * certificates) are skipped. Throws PkiError; the message never contains any part of the key.
 */
export function parsePrivateKeyPem(pem: string | Uint8Array): KeyObject {
  const block = decodePemBlocks(pem).find(({ type }) => privateKeyTypes.has(type));
  if (block === undefined) throw new PkiError("data does not contain a valid RSA, ECDSA or Ed25519 private key");
  try {
    return createPrivateKey(encodePem(block.type, block.bytes));
  } catch {
    throw new PkiError("data does not contain a valid RSA, ECDSA or Ed25519 private key");
  }
}

/**
 * Encodes in the form that every tool reads: SEC 1 ("EC PRIVATE KEY") for ECDSA, PKCS #1 for RSA, as client-go writes
 * them; PKCS #8 for Ed25519, which has no other. Java's Kubernetes client, for one, reads no ECDSA key in PKCS #8. The
 * result is secret: write it to a file of mode 0600.
 */
export const encodePrivateKeyPem = (key: KeyObject): string =>
  key.export({ format: "pem", type: privateKeyForms.get(key.asymmetricKeyType) ?? "pkcs8" });

const privateKeyForms = new Map<string | undefined, "sec1" | "pkcs1">([
  ["ec", "sec1"],
  ["rsa", "pkcs1"],
]);

/** The SubjectPublicKeyInfo of a private or public key. */
export function publicKeyInfoOf(key: KeyObject): PublicKeyInfo {
  const publicKey = key.type === "private" ? createPublicKey(key) : key;
  return parsePublicKeyInfo(publicKey.export({ format: "der", type: "spki" }));
}

/** RFC 7093 2(1), like Go: the first 160 bits of the SHA-256 of the key's BIT STRING. */
export const keyIdentifier = (publicKey: PublicKeyInfo): Buffer =>
  createHash("sha256").update(publicKey.keyBytes).digest().subarray(0, 20);
