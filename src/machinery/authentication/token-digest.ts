import { hash, randomBytes } from "node:crypto";

/**
 * Makes a digest under a key that lives and dies with what it was made for. Tables of tokens are looked up by it: how long
 * a look-up takes tells nothing of how much of a token was right, and a dump of the table is of no use. The digests never
 * leave the process, so a hash with the key in front (of fixed length) does what an HMAC would, at a third of its cost.
 */
export function tokenDigest(): (token: string) => string {
  const key = randomBytes(32).toString("base64");
  return (token) => hash("sha256", key + token, "base64");
}
