/** The words of a command line, split at spaces that are not within double quotes. Paths may have spaces. */
export const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
