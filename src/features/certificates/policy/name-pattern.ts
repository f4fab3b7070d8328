import { Fields } from "../../../machinery/command-line/fields.ts";
import { parseIpRange } from "../../../pki/ip-address.ts";
import type { IpRange } from "../../../pki/ip-address.ts";

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

interface PatternOptions {
  readonly separator: "." | "/" | "@" | "";
  /** Why a valid pattern is not allowed here. */
  readonly faultOf?: (pattern: string) => string | undefined;
}

/** The fields of a mapping that says which names are allowed. */
export class PatternFields extends Fields {
  override fields(name: string): PatternFields {
    return new PatternFields(this.take(name), { path: this.pathOf(name), faults: this.faults });
  }

  patterns(name: string, { separator, faultOf = () => undefined }: PatternOptions): NamePattern[] | undefined {
    return this.list(name, (value, path) => {
      const text = separator === "." && typeof value === "string" ? value.toLowerCase() : value;
      const pattern = typeof text === "string" ? namePattern(text, separator) : { fault: "must be a string" };
      const fault = "fault" in pattern ? pattern.fault : faultOf(pattern.source);
      if (!("fault" in pattern) && fault === undefined) return pattern;
      this.faults.push(`${path}: ${fault}`);
      return undefined;
    });
  }

  ipRange(value: unknown, path: string): IpRange | undefined {
    const range = typeof value === "string" ? parseIpRange(value) : undefined;
    if (range === undefined) this.faults.push(`${path}: must be an IP address or a range such as 10.0.0.0/8`);
    return range;
  }
}
