import { maximumDepth } from "./json-value.ts";

/**
 * Parses a JSON pointer (RFC 6901) to its tokens, with `~1` and `~0` decoded. Undefined when it is invalid or extremely
 * long.
 */
export function parseJsonPointer(pointer: string): string[] | undefined {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) return undefined;
  const tokens = pointer.slice(1).split("/", maximumDepth + 1);
  if (tokens.length > maximumDepth) return undefined;
  return tokens.map((token) => (token.includes("~") ? token.replaceAll("~1", "/").replaceAll("~0", "~") : token));
}

/**
 * Parses a token to an array index (RFC 6901 section 4). As in upstream's library, a negative index counts from the
 * end: -1 is the last item. Undefined for anything else, and for an index before the first item.
 */
export function parseArrayIndex(token: string, length: number): number | undefined {
  if (!/^(?:0|-?[1-9]\d{0,14})$/.test(token)) return undefined;
  const index = Number(token);
  if (index >= 0) return index;
  return index + length >= 0 ? index + length : undefined;
}
