import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { transformerOf } from "./aes-gcm.ts";
import type { NamedKey } from "./aes-gcm.ts";
import { notAuthentic, tooShort } from "./value-transformer.ts";
import type { ValueTransformer } from "./value-transformer.ts";

const blockBytes = 16;

/**
 * Upstream's `aescbc`: a random IV, then AES-CBC with PKCS #7 padding. It has no authentication: a user who can write to
 * the store can change values and move them to other keys. For data that other servers wrote.
 */
export const aesCbc = ({ name, secret }: NamedKey): ValueTransformer => {
  const algorithm = `aes-${secret.length * 8}-cbc`;
  return transformerOf(`k8s:enc:aescbc:v1:${name}:`, {
    seal(plain) {
      const iv = randomBytes(blockBytes);
      const cipher = createCipheriv(algorithm, secret, iv);
      return [iv, cipher.update(plain), cipher.final()];
    },
    open(sealed) {
      if (sealed.length < 2 * blockBytes || sealed.length % blockBytes !== 0) throw tooShort();
      const decipher = createDecipheriv(algorithm, secret, sealed.subarray(0, blockBytes));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(blockBytes)), decipher.final()]);
      } catch {
        throw notAuthentic();
      }
    },
  });
};
