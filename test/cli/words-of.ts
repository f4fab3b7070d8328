/** The words of a command line: it is split at spaces, but not within double quotes. Paths may have spaces. */
export const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
