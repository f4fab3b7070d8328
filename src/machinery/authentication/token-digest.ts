import { hash, randomBytes } from "node:crypto";

/**
 * Creates a digest function with a random key that exists only in this process. Tables of tokens are indexed by the digest, so the time of
 * a look-up does not reveal how much of a token is right, and a memory dump of the table is useless. Because the digests never leave the
 * process, a hash with a key prefix of fixed length is as safe here as an HMAC, at a third of the cost.
 */
export function tokenDigest(): (token: string) => string {
  const key = randomBytes(32).toString("base64");
  return (token) => hash("sha256", key + token, "base64");
}
