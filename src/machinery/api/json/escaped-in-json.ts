import { unprintableInDocument } from "../text/unprintable-characters.ts";

/** Escapes unprintable characters as strings of JSON do. The value stays the same. */
export const escapedInJson = (json: string): string =>
  json.replace(unprintableInDocument, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${hexadecimal(character.charCodeAt(at))}`).join(""),
  );

const hexadecimal = (unit: number): string => unit.toString(16).padStart(4, "0");
