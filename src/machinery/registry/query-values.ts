import { badRequest } from "../api/api-error.ts";
import { goQuoted } from "../api/text/format-value.ts";

/** The parameters of a query. They are shared, and so immutable. */
export type QueryParameters = Pick<URLSearchParams, "get" | "getAll" | "has" | "keys">;

/** The last query that was parsed: several steps of a request read its parameters. */
let last: { readonly query: string; readonly parameters: QueryParameters } = {
  query: "",
  parameters: new URLSearchParams(),
};

/** Parses a query. Malformed escapes stay as they are, and bytes that are not UTF-8 become U+FFFD. */
export function parametersOf(query: string): QueryParameters {
  if (query !== last.query) last = { query, parameters: new URLSearchParams(withReadableEscapes(query)) };
  return last.parameters;
}

/**
 * Replaces escapes that cannot be decoded by what URLSearchParams makes of them. Node.js creates an error for each parameter with such
 * escapes, which takes a hundred times as long as the rest.
 */
export function withReadableEscapes(query: string): string {
  if (!query.includes("%")) return query;
  try {
    decodeURIComponent(query);
    return query;
  } catch {
    return query.replaceAll(/%(?![\da-f]{2})|(?:%[\da-f]{2})+/gi, reencoded);
  }
}

const reencoded = (escapes: string): string =>
  escapes === "%" ? "%25" : encodeURIComponent(Buffer.from(escapes.replaceAll("%", ""), "hex").toString());

/**
 * Parses the first value as a 64-bit integer. Undefined when the parameter is absent. Throws a 400 in the words of Go's
 * strconv.
 */
export function parseInteger(parameters: Pick<QueryParameters, "get">, name: string): number | undefined {
  const text = parameters.get(name);
  if (text === null) return undefined;
  const refusal = (fault: string): Error => badRequest(`strconv.ParseInt: parsing ${goQuoted(text)}: ${fault}`);
  if (!/^[+-]?\d+$/.test(text)) throw refusal("invalid syntax");
  const significant = text.replace("+", "").replace(/^(-?)0+(?=\d)/, "$1");
  if (significant.length > 20 || BigInt.asIntN(64, BigInt(significant)) !== BigInt(significant)) {
    throw refusal("value out of range");
  }
  return Number(text);
}

/** Whether a query may have a parameter: a fast check without parsing. An escape may stand for any letter of the name (`w%61tch`). */
export const mayHaveParameter = (query: string, name: string): boolean => query.includes(name) || query.includes("%");

/** Every value except `false` and `0` is true. Undefined when the parameter is absent. */
export function parseBoolean(parameters: Pick<QueryParameters, "get">, name: string): boolean | undefined {
  const text = parameters.get(name);
  return text === null ? undefined : text !== "0" && text.toLowerCase() !== "false";
}
