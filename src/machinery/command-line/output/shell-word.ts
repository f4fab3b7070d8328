import { unprintableCharacters } from "../../api/text/unprintable-characters.ts";

/** A word without characters that have a meaning in a shell. */
const plainWord = /^[\p{L}\p{N}_@%+:,./-]+$/u;

/**
 * Writes a text, such as a path, as one word of a command that a person can paste into bash or zsh: unchanged where possible, else in
 * quotes, with escapes for characters that must not reach a terminal.
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
