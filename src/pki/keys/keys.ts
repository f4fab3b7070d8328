import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { decodePemBlocks, encodePem } from "../pem.ts";
import type { PemBlock } from "../pem.ts";
import { PkiError } from "../pki-error.ts";
import { parsePublicKeyInfo } from "./public-key.ts";
import type { PublicKeyInfo } from "./public-key.ts";

/** The types of keys that can be generated. */
export const keyTypes = [
  "ECDSA P-256",
  "ECDSA P-384",
  "ECDSA P-521",
  "Ed25519",
  "RSA 2048",
  "RSA 3072",
  "RSA 4096",
] as const;
export type KeyType = (typeof keyTypes)[number];

/** Generates a private key. RSA takes up to several seconds, in which the process does nothing else. */
export function generatePrivateKey(type: KeyType): KeyObject {
  const [family, detail = ""] = type.split(" ");
  if (family === "ECDSA") return generateKeyPairSync("ec", { namedCurve: detail }).privateKey;
  if (family === "RSA") return generateKeyPairSync("rsa", { modulusLength: Number(detail) }).privateKey;
  return generateKeyPairSync("ed25519").privateKey;
}

/** The type of a public key, as a `KeyType` if there is one for it. */
export const keyTypeOf = ({ algorithm, sizeBits, curve }: PublicKeyInfo): string =>
  algorithm === "RSA" ? `RSA ${sizeBits}` : [algorithm, curve].join(" ").trim();

const privateKeyTypes = new Set(["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"]);

/**
 * Parses the first private key of a PEM text: unencrypted PKCS #8, PKCS #1 or SEC 1. Other blocks (EC PARAMETERS,
 * certificates) are skipped. Throws PkiError; the message never contains any part of the key.
 */
export function parsePrivateKeyPem(pem: string | Uint8Array): KeyObject {
  const blocks = decodePemBlocks(pem);
  const block = blocks.find(({ type }) => privateKeyTypes.has(type)) ?? blocks.find(isEncrypted);
  if (block === undefined) throw new PkiError("data does not contain a valid RSA, ECDSA or Ed25519 private key");
  if (isEncrypted(block)) {
    throw new PkiError(
      "the private key is encrypted: write it without its password, with openssl pkey -in KEY -out FILE",
    );
  }
  try {
    return createPrivateKey(encodePem(block.type, block.bytes));
  } catch {
    throw new PkiError("data does not contain a valid RSA, ECDSA or Ed25519 private key");
  }
}

/** Whether a private key is encrypted. PKCS #8 has this in the label, OpenSSL's old format in a header (RFC 1421 section 4.6.1.3). */
const isEncrypted = ({ type, headers }: PemBlock): boolean =>
  type === "ENCRYPTED PRIVATE KEY" || headers.has("DEK-Info");

/**
 * Encodes a private key in the form that every tool reads: SEC 1 ("EC PRIVATE KEY") for ECDSA, PKCS #1 for RSA, both as client-go writes
 * them, and PKCS #8 for Ed25519, which has no other form. For example, Java's Kubernetes client reads no ECDSA key in PKCS #8. The result
 * is secret: write it to a file of mode 0600.
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

/** The identifier of a key (RFC 7093 2(1), like Go): the first 160 bits of the SHA-256 of the key's BIT STRING. */
export const keyIdentifier = (publicKey: PublicKeyInfo): Buffer =>
  createHash("sha256").update(publicKey.keyBytes).digest().subarray(0, 20);
