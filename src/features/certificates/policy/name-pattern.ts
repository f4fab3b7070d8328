import { Fields } from "../../../machinery/command-line/settings/fields.ts";
import { parseIpRange } from "../../../pki/names/ip-address.ts";
import type { IpRange } from "../../../pki/names/ip-address.ts";

/** A pattern for whole names. `source` is its text. */
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
  const [start = ""] = source.split("*", 1);
  const end = source.slice(source.lastIndexOf("*") + 1);
  return {
    source,
    matches: (name) =>
      name.length <= maximumNameLength &&
      // Patterns of one policy often differ only at one end, and most names match none of them.
      name.startsWith(start) &&
      name.endsWith(end) &&
      matchesTokens(tokens, { name, separator }),
  };
}

/**
 * Whether the tokens match a name. Tracks the reachable places in the pattern after each character, so there is no backtracking. The places
 * are in a sorted list: a request may have a megabyte of names, and sets take ten times as long.
 */
function matchesTokens(
  tokens: readonly string[],
  { name, separator }: { readonly name: string; readonly separator: string },
): boolean {
  let reached = reach([], { place: 0, tokens });
  for (let at = 0; at < name.length; at += 1) {
    const character = name[at];
    const next: number[] = [];
    for (const place of reached) {
      const token = tokens[place];
      if (token === "**" || (token === "*" && character !== separator)) reach(next, { place, tokens });
      else if (token === character) reach(next, { place: place + 1, tokens });
    }
    if (next.length === 0) return false;
    reached = next;
  }
  return reached.at(-1) === tokens.length;
}

/**
 * Adds a reachable place. Places must be added in ascending order; a place that is already there is ignored. A wildcard may match nothing,
 * so the place after it is reachable too.
 */
function reach(
  places: number[],
  { place, tokens }: { readonly place: number; readonly tokens: readonly string[] },
): number[] {
  // Already there, with the places after its wildcards.
  if (place <= (places.at(-1) ?? -1)) return places;
  let at = place;
  places.push(at);
  while (tokens[at]?.startsWith("*") === true) places.push(++at);
  return places;
}

/** Matches a name that is left out or empty. */
const noName: NamePattern = { source: "", matches: (name) => name === "" };

interface PatternOptions {
  readonly separator: "." | "/" | "@" | "";
  /** Why a valid pattern is not allowed here. */
  readonly faultOf?: (pattern: string) => string | undefined;
  /** Whether the empty text is a pattern too, which matches a name that is left out or empty. */
  readonly mayBeEmpty?: boolean;
}

/** The fields of a mapping with patterns of allowed names. */
export class PatternFields extends Fields {
  override fields(name: string): PatternFields {
    return new PatternFields(this.take(name), { path: this.pathOf(name), faults: this.faults });
  }

  patterns(
    name: string,
    { separator, faultOf = () => undefined, mayBeEmpty = false }: PatternOptions,
  ): NamePattern[] | undefined {
    return this.list(name, (value, path) => {
      if (value === "" && mayBeEmpty) return noName;
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
