import { PkiError } from "../../pki/pki-error.ts";
import type { PublicKeyInfo } from "../../pki/keys/public-key.ts";
import type { SigningKey } from "../../pki/keys/signing-key.ts";
import type { Pkcs11Key } from "./pkcs11-key.ts";

/**
 * The key in a token whose public key is known, such as the key of a CA. The token is used at the first signature, and may be missing until
 * then. Throws PkiError for a public key that no token can have.
 */
export function keyInToken(uri: string, publicKey: PublicKeyInfo): SigningKey {
  if (publicKey.algorithm === "Ed25519") throw new PkiError("keys in tokens are RSA or EC keys, not Ed25519");
  let key: Promise<Pkcs11Key> | undefined;
  const open = async (): Promise<Pkcs11Key> => (await import("./pkcs11-key.ts")).Pkcs11Key.of(uri, { publicKey });
  return {
    publicKey,
    async sign(data) {
      key ??= open();
      return (await key).sign(data);
    },
  };
}
