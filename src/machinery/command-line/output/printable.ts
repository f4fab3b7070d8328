import { unprintableCharacters, unprintableInDocument } from "../../api/text/unprintable-characters.ts";

const hexadecimal = (value: number, digits = 0): string => value.toString(16).padStart(digits, "0");

/** Prepares other people's text for a terminal: on one line, with everything escaped that could hide or fake output. */
export const printable = (text: string): string =>
  text.replace(unprintableCharacters, (character) => `\\u{${hexadecimal(character.codePointAt(0) ?? 0)}}`);

/** Whether a text has characters that must not reach a terminal, besides line feeds. */
export const hasUnprintable = (text: string): boolean => text.search(unprintableInDocument) >= 0;

/** Escapes unprintable characters as double-quoted strings of YAML do. The value stays the same. */
export const escapedInYaml = (yaml: string): string =>
  yaml.replace(unprintableInDocument, (character) => `\\U${hexadecimal(character.codePointAt(0) ?? 0, 8)}`);
