const htmlCharacters = /[<>&\u2028\u2029]/g;

/** A value in JSON as Go's encoding/json writes it, which escapes what HTML or JavaScript would read as its own. */
export const goJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    htmlCharacters,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
