/** Matches whole names. `source` is what the policy says. */
export interface NamePattern {
  readonly source: string;
  matches(name: string): boolean;
}

export const matchesAny = (patterns: readonly NamePattern[], name: string): boolean =>
  patterns.some((pattern) => pattern.matches(name));

const maximumPatternLength = 512;
const maximumNameLength = 4096;

/**
 * A pattern in which `*` stands for any characters but the separator, and `**` for any characters at all; without a
 * separator `*` is the same as `**`. Matching takes time proportional to the name times the pattern, whatever they are.
 * Returns why a pattern is none. Names of more than 4096 characters match nothing.
 */
export function namePattern(source: string, separator: "." | "/" | "@" | ""): NamePattern | { readonly fault: string } {
  if (source === "" || source.length > maximumPatternLength) return { fault: "must have 1 to 512 characters" };
  const tokens = source.match(/\*\*|[^]/g) ?? [];
  return {
    source,
    matches: (name) => name.length <= maximumNameLength && matchesTokens(tokens, { name, separator }),
  };
}

/** Keeps, after each character, the set of places in the pattern that can have been reached: nothing is tried twice. */
function matchesTokens(
  tokens: readonly string[],
  { name, separator }: { readonly name: string; readonly separator: string },
): boolean {
  let reached = afterWildcards(tokens, new Set([0]));
  for (const character of name.split("")) {
    const next = new Set<number>();
    for (const place of reached) {
      const token = tokens[place];
      if (token === "**" || (token === "*" && character !== separator)) next.add(place);
      else if (token === character) next.add(place + 1);
    }
    if (next.size === 0) return false;
    reached = afterWildcards(tokens, next);
  }
  return reached.has(tokens.length);
}

/** A wildcard may stand for nothing: the place behind it is reached as well. */
function afterWildcards(tokens: readonly string[], places: Set<number>): Set<number> {
  // A Set visits what is added while it is walked.
  for (const place of places) if (tokens[place]?.startsWith("*") === true) places.add(place + 1);
  return places;
}
