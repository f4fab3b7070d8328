import { createHash } from "node:crypto";
import { dnsSubdomainFaults } from "../../../api/validation/name-validation.ts";
import type { EncryptedObject, WrappedKey } from "./kms-messages.ts";

/** A data encryption key as it is stored. */
export type DataKey = Pick<EncryptedObject, "wrappedKey" | "keySource">;

/** Upstream's limits for what a plugin returns. */
const maximumKeyIdBytes = 1024;
const maximumWrappedKeyBytes = 1024;
const maximumAnnotationBytes = 32 * 1024;

/** Throws an Error that names the plugin's fault. */
export function checkKeyId(keyId: string): void {
  const bytes = Buffer.byteLength(keyId);
  if (bytes === 0) throw new Error("its key has no id");
  if (bytes > maximumKeyIdBytes)
    throw new Error(`the id of its key has ${bytes} bytes, more than ${maximumKeyIdBytes}`);
}

/** Throws an Error that names the plugin's fault. */
export function checkWrappedKey({ ciphertext, keyId, annotations }: WrappedKey): void {
  checkKeyId(keyId);
  if (ciphertext.length === 0 || ciphertext.length > maximumWrappedKeyBytes) {
    throw new Error(`it encrypted a key to ${ciphertext.length} bytes: 1 to ${maximumWrappedKeyBytes} are allowed`);
  }
  let bytes = 0;
  for (const [name, value] of annotations) {
    bytes += Buffer.byteLength(name) + value.length;
    if (!name.includes(".") || dnsSubdomainFaults(name).length > 0) {
      throw new Error("a key of its annotations is not a fully qualified domain name");
    }
  }
  if (bytes > maximumAnnotationBytes)
    throw new Error(`its annotations have ${bytes} bytes, more than ${maximumAnnotationBytes}`);
}

/** A digest that identifies a wrapped key: of everything that the KMS needs to unwrap it. */
export function digestOf({ wrappedKey: { ciphertext, keyId, annotations }, keySource: source }: DataKey): string {
  const hash = createHash("sha256").update(`${source} ${ciphertext.length} ${Buffer.byteLength(keyId)} `);
  hash.update(ciphertext).update(keyId);
  for (const [name, value] of [...annotations].toSorted(([one], [other]) => (one < other ? -1 : 1)))
    hash.update(`${name.length} ${value.length} ${name}`).update(value);
  return hash.digest("base64");
}
