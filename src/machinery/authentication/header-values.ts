import { badRequest } from "../api/api-error.ts";
import { headerText } from "../api/header-text.ts";
import type { Headers } from "../api/http-message.ts";

/**
 * Every value of a header that carries or claims an identity, in order of arrival, as text. `name` is in lower case.
 * Throws a 400 ApiError for a value that is not UTF-8 or contains control characters, because names are never guessed.
 */
export function headerValues(headers: Headers, name: string): readonly string[] {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (value === undefined) return [];
  return typeof value === "string" ? [textOf(name, value)] : value.map((one) => textOf(name, one));
}

function textOf(name: string, value: string): string {
  if (!/[^ -~]/.test(value)) return value;
  const text = headerText(value);
  // RFC 9110 section 5.5: a value may contain tabs.
  if (text === undefined || /(?!\t)\p{Cc}/u.test(text)) {
    throw badRequest(`the value of the header ${JSON.stringify(name)} is not UTF-8 text without control characters`);
  }
  return text;
}

/** The first value of a header, or "" (Go's `Header.Get`). */
export const firstHeaderValue = (headers: Headers, name: string): string => headerValues(headers, name)[0] ?? "";

/**
 * The keys and values of the headers whose names begin with a prefix. Keys are lower-cased first and percent-decoded
 * then; an invalid escape leaves a key as it is (upstream: `unescapeExtraKey`). Keys that become equal share their values.
 * Throws a 400 ApiError as `headerValues` does, also for escapes that are not UTF-8.
 */
export function extraOf(headers: Headers, prefix: string): Map<string, string[]> {
  const extra = new Map<string, string[]>();
  for (const name of Object.keys(headers)) {
    if (!name.startsWith(prefix)) continue;
    const key = unescapedKey(name.slice(prefix.length).toLowerCase());
    extra.set(key, [...(extra.get(key) ?? []), ...headerValues(headers, name)]);
  }
  return extra;
}

function unescapedKey(text: string): string {
  if (!text.includes("%")) return text;
  if (/%(?![0-9a-f]{2})/i.test(text)) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequest(`the escapes in the extra key ${JSON.stringify(text)} are not UTF-8`);
  }
}
