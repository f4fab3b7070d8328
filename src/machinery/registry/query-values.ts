import { badRequest } from "../api/api-error.ts";
import { goQuoted } from "../api/format-value.ts";

/**
 * Parses the first value as a 64-bit integer. Undefined when the parameter is absent. Throws a 400 in the words of Go's
 * strconv.
 */
export function parseInteger(parameters: URLSearchParams, name: string): number | undefined {
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

/** Whether a query may have a parameter: a quick look before it is parsed. An escape can stand for any letter of a name (`w%61tch`). */
export const mayHaveParameter = (query: string, name: string): boolean => query.includes(name) || query.includes("%");

/** Every value except `false` and `0` is true. Undefined when the parameter is absent. */
export function parseBoolean(parameters: URLSearchParams, name: string): boolean | undefined {
  const text = parameters.get(name);
  return text === null ? undefined : text !== "0" && text.toLowerCase() !== "false";
}
