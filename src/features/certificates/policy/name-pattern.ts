/** Matches whole names. `source` is the text of the pattern. */
export interface NamePattern {
  readonly source: string;
  matches(name: string): boolean;
}

export const matchesAny = (patterns: readonly NamePattern[], name: string): boolean =>
  patterns.some((pattern) => pattern.matches(name));

const maximumPatternLength = 512;
const maximumNameLength = 4096;

/**
 * Parses a pattern in which `*` matches any characters except the separator, and `**` matches any characters. Without a
 * separator, `*` is the same as `**`. Matching takes time proportional to the length of the name times the length of
 * the pattern, in every case. Returns the fault of an invalid pattern. Names of more than 4096 characters never match.
 */
export function namePattern(source: string, separator: "." | "/" | "@" | ""): NamePattern | { readonly fault: string } {
  if (source === "" || source.length > maximumPatternLength) return { fault: "must have 1 to 512 characters" };
  const tokens = source.match(/\*\*|[^]/g) ?? [];
  return {
    source,
    matches: (name) => name.length <= maximumNameLength && matchesTokens(tokens, { name, separator }),
  };
}

/** Tracks the set of reachable positions in the pattern after each character, so there is no backtracking. */
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

/** A wildcard may match nothing: the position after it is reachable too. */
function afterWildcards(tokens: readonly string[], places: Set<number>): Set<number> {
  // Iterating a Set also visits values that are added meanwhile.
  for (const place of places) if (tokens[place]?.startsWith("*") === true) places.add(place + 1);
  return places;
}
