import { maximumDepth } from "./json-value.ts";

/** The reference tokens of a JSON pointer (RFC 6901), `~1` and `~0` decoded; undefined when it is none or absurdly long. */
export function parseJsonPointer(pointer: string): string[] | undefined {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) return undefined;
  const tokens = pointer.slice(1).split("/", maximumDepth + 1);
  if (tokens.length > maximumDepth) return undefined;
  return tokens.map((token) => (token.includes("~") ? token.replaceAll("~1", "/").replaceAll("~0", "~") : token));
}

/**
 * The array index that a token stands for (RFC 6901 section 4); a negative one counts from `length`, as upstream's library
 * does: -1 is the last. Undefined for anything else, and for one before the first.
 */
export function parseArrayIndex(token: string, length: number): number | undefined {
  if (!/^(?:0|-?[1-9]\d{0,14})$/.test(token)) return undefined;
  const index = Number(token);
  if (index >= 0) return index;
  return index + length >= 0 ? index + length : undefined;
}
