import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { join } from "node:path";
import { isSameText } from "../api/text/is-same-text.ts";
import { writePrivateFile } from "../files/atomic-file.ts";
import { readPrivateFile } from "../files/private-file.ts";
import { UnusableFile } from "../files/unusable-file.ts";

/** The file in the data directory with the key that seals the private keys in the store. */
export const sealingKeyFile = "sealing.key";

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Seals private keys, so that they can be in a store that others may read. AES-256-GCM (NIST SP 800-38D) with a random
 * nonce; few keys are sealed in the life of a server, so nonces don't repeat. The name of a sealed key is authenticated
 * too, so that a key can't be put in the place of another one.
 */
export class SealingKey {
  /** Identifies the sealing key, and says nothing else about it. */
  readonly id: string;
  readonly #key: Buffer;
  readonly #file: string;

  private constructor(key: Buffer, file: string) {
    this.#key = key;
    this.#file = file;
    this.id = createHmac("sha256", key).update("signet sealing key").digest("hex").slice(0, 16);
  }

  /**
   * Reads the data directory's key, and creates its file (0600) on first use. `makesKey: false`: does not create it, because keys are or
   * may be sealed already, which a new key could not unseal. Throws UnusableFile.
   */
  static open(dataDirectory: string, { makesKey = true } = {}): SealingKey {
    const file = join(dataDirectory, sealingKeyFile);
    const kept = readPrivateFile(file);
    if (kept !== undefined) return new SealingKey(parseKey(kept, file), file);
    if (!makesKey) {
      throw new UnusableFile(
        `${file} is not there: a server makes it at its first start; if it was lost, copy it from a backup or another replica, or give ` +
          "up what it opens (signet keys reseal); a new replica needs the CAs of the others, too (ca.crt, ca.key, *-ca.crt, *-ca.key)",
      );
    }
    const made = randomBytes(keyBytes);
    writePrivateFile(file, `${made.toString("base64")}\n`);
    return new SealingKey(made, file);
  }

  seal(secret: string, name: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.from(name));
    const text = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
    return `${this.id}:${Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64")}`;
  }

  /** Throws UnusableFile when another key has sealed the text, or the text was changed. */
  unseal(sealed: string, name: string): string {
    const [id = "", text = ""] = sealed.split(":");
    if (!isSameText(id, this.id)) {
      throw new UnusableFile(
        `${this.#file} (${this.id}) is not what ${name} is sealed with (${id}): copy that file from a backup or another replica, ` +
          "or give up what it opens (signet keys reseal)",
      );
    }
    const bytes = Buffer.from(text, "base64");
    try {
      const nonce = bytes.subarray(0, nonceBytes);
      const decipher = createDecipheriv("aes-256-gcm", this.#key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(name));
      decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      return decipher.update(bytes.subarray(nonceBytes + tagBytes), undefined, "utf8") + decipher.final("utf8");
    } catch (cause) {
      throw new UnusableFile(`${name} in the store was changed: restore the store from a backup`, { cause });
    }
  }
}

function parseKey(text: string, file: string): Buffer {
  const key = Buffer.from(text.trim(), "base64");
  if (key.length === keyBytes && key.toString("base64") === text.trim()) return key;
  throw new UnusableFile(
    `${file} is not ${keyBytes} bytes in base64: restore it from a backup, or move it away (then: signet keys reseal)`,
  );
}
