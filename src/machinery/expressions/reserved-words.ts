/** Words that CEL reserves: they cannot be used as names. */
export const reservedWords: ReadonlySet<string> = new Set(
  (
    "true false null in as break const continue else for function if import let loop package namespace return " +
    "var void while"
  ).split(" "),
);
