import type { Headers } from "../api/http-message.ts";

/** Every value of a header, in order of arrival. `name` is in lower case. */
export function headerValues(headers: Headers, name: string): readonly string[] {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (value === undefined) return [];
  return typeof value === "string" ? [value] : value;
}

/** The first value of a header, or "" (Go's `Header.Get`). */
export const firstHeaderValue = (headers: Headers, name: string): string => headerValues(headers, name)[0] ?? "";

/**
 * The keys and values of the headers whose names begin with a prefix. Keys are lower-cased first and percent-decoded
 * then; an invalid escape leaves a key as it is (upstream: `unescapeExtraKey`). Keys that become equal share their values.
 */
export function extraOf(headers: Headers, prefix: string): Map<string, string[]> {
  const extra = new Map<string, string[]>();
  for (const name of Object.keys(headers)) {
    if (!name.startsWith(prefix)) continue;
    const key = percentDecoded(name.slice(prefix.length).toLowerCase());
    extra.set(key, [...(extra.get(key) ?? []), ...headerValues(headers, name)]);
  }
  return extra;
}

function percentDecoded(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
