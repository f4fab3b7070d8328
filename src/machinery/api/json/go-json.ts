const htmlCharacters = /[<>&\u2028\u2029]/g;

/** A value in JSON as Go's encoding/json writes it: characters with a meaning in HTML or JavaScript are escaped. */
export const goJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    htmlCharacters,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
