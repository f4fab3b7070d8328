import { createHmac } from "node:crypto";
import type { KeyObject } from "node:crypto";

/** A key with its certificates, for a key store with one entry. */
export interface KeyStoreEntry {
  /** The name by which programs find the key. */
  readonly alias: string;
  /** Visible ASCII characters. */
  readonly password: string;
  readonly privateKey: KeyObject;
  /** The certificates in DER. The key's own is the first. */
  readonly chain: readonly Uint8Array[];
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** The key as unencrypted PKCS #8. Secret. */
export const privateKeyDer = ({ privateKey }: KeyStoreEntry): Buffer =>
  privateKey.export({ format: "der", type: "pkcs8" });

/**
 * Returns up to 32 bytes for a salt or an initialization vector. They look random without the key, and are the same for the same entry, so
 * that a store can be compared with the file that was written before.
 */
export function saltFor(
  entry: KeyStoreEntry,
  { purpose, bytes }: { readonly purpose: string; readonly bytes: number },
): Buffer {
  const hmac = createHmac("sha256", privateKeyDer(entry)).update(`${purpose}\0${entry.alias}\0${entry.password}\0`);
  for (const der of entry.chain) hmac.update(der);
  return hmac.digest().subarray(0, bytes);
}

/** A text in UTF-16, big-endian, as Java and PKCS #12 encode passwords and names. */
export const utf16 = (text: string): Buffer => Buffer.from(text, "utf16le").swap16();
