/** Matches whole names. `source` is what the policy says. */
export interface NamePattern {
  readonly source: string;
  matches(name: string): boolean;
}

const maximumPatternLength = 512;
const maximumWildcards = 4;

/**
 * A pattern in which `*` stands for any characters but the separator, and `**`, once at most, for any characters. Without
 * a separator `*` stands for anything. Returns why a pattern is none.
 */
export function namePattern(source: string, separator: "." | "/" | "@" | ""): NamePattern | { readonly fault: string } {
  if (source === "" || source.length > maximumPatternLength) return { fault: "must have 1 to 512 characters" };
  const parts = source.split(/(\*\*|\*)/);
  const wildcards = parts.filter((part) => part.startsWith("*"));
  // Bounds what matching a hostile name can cost.
  if (wildcards.length > maximumWildcards) return { fault: `must not have more than ${maximumWildcards} wildcards` };
  if (wildcards.filter((part) => part === "**").length > 1) return { fault: 'must not have "**" twice' };
  const oneLabel = separator === "" ? ".*" : `[^${separator}]*`;
  const expression = parts
    .map((part) => (part === "**" ? ".*" : part === "*" ? oneLabel : escapeRegExp(part)))
    .join("");
  const compiled = new RegExp(`^${expression}$`, "s");
  return { source, matches: (name) => compiled.test(name) };
}

const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
