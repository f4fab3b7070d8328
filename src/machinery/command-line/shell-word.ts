import { unprintableCharacters } from "../api/unprintable-characters.ts";

/** Nothing in it means anything to a shell. */
const plainWord = /^[\p{L}\p{N}_@%+:,./-]+$/u;

/**
 * Writes a text, such as a path, as one word of a command that a person can paste into bash or zsh: as it is where it can be, else in
 * quotes, and with escapes for what a terminal must not get.
 */
export function shellWord(text: string): string {
  if (text.search(unprintableCharacters) < 0)
    return plainWord.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const escaped = text
    .replaceAll(/[\\']/g, String.raw`\$&`)
    .replace(unprintableCharacters, (one) =>
      Array.from(Buffer.from(one), (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join(""),
    );
  return `$'${escaped}'`;
}
