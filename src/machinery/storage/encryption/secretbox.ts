import { randomBytes } from "node:crypto";
import { xsalsa20poly1305 } from "@noble/ciphers/salsa.js";
import { transformerOf } from "./aes-gcm.ts";
import type { NamedKey } from "./aes-gcm.ts";
import { notAuthentic, tooShort } from "./value-transformer.ts";
import type { ValueTransformer } from "./value-transformer.ts";

const nonceBytes = 24;
const tagBytes = 16;

/**
 * Upstream's `secretbox` (XSalsa20 and Poly1305, as in NaCl): nonce, tag, ciphertext. It has no associated data: a user who can
 * write to the store can move a value to another key.
 */
export const secretbox = ({ name, secret }: NamedKey): ValueTransformer =>
  transformerOf(`k8s:enc:secretbox:v1:${name}:`, {
    seal(plain) {
      const nonce = randomBytes(nonceBytes);
      return [nonce, Buffer.from(xsalsa20poly1305(secret, nonce).encrypt(plain))];
    },
    open(sealed) {
      if (sealed.length < nonceBytes + tagBytes) throw tooShort();
      try {
        const box = xsalsa20poly1305(secret, sealed.subarray(0, nonceBytes));
        return Buffer.from(box.decrypt(sealed.subarray(nonceBytes)));
      } catch {
        throw notAuthentic();
      }
    },
  });
