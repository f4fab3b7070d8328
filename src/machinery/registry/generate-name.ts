import { randomInt } from "node:crypto";

/** No vowels and nothing that looks like another (upstream: `rand.String`). */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const maximumPrefixLength = 63 - suffixLength;

/** A name that begins with the prefix, cut so that the whole is a label. */
export function generateName(prefix: string): string {
  let name = prefix.slice(0, maximumPrefixLength);
  for (let at = 0; at < suffixLength; at += 1) name += alphabet.charAt(randomInt(alphabet.length));
  return name;
}
