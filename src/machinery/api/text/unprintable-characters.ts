/**
 * Characters that could steer a terminal or hide text: control characters, format characters (direction, joiners, tags),
 * line and paragraph separators, lone surrogates, and letters without a glyph.
 */
export const unprintableCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

/** The same without the line feed: documents in JSON and YAML have several lines. */
export const unprintableInDocument = new RegExp(`(?!\\n)${unprintableCharacters.source}`, "gu");
