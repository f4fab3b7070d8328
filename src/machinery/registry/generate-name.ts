import { randomInt } from "node:crypto";

/** No vowels and no characters that look alike (upstream: `rand.String`). */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const maximumPrefixLength = 63 - suffixLength;

/** Generates a name with the prefix. The prefix is cut so that the name is a valid label. */
export function generateName(prefix: string): string {
  let name = prefix.slice(0, maximumPrefixLength);
  for (let at = 0; at < suffixLength; at += 1) name += alphabet.charAt(randomInt(alphabet.length));
  return name;
}
