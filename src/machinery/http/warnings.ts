import { headerOctets } from "../api/header-text.ts";
import type { HttpResponse } from "../api/http-message.ts";
import { shortened } from "../api/text/format-value.ts";

/** The limit for all warnings of an answer together, in bytes: proxies refuse larger headers (upstream's bound). */
const maximumWarningBytes = 4096;

/** Collects the sentences for an answer's Warning headers; each is sent once. */
export class Warnings {
  /** Most answers have none. */
  #texts: Set<string> | undefined;
  #length = 0;

  /** Warnings beyond the size that an answer may carry are dropped. */
  add(text: string): void {
    if (this.#length > maximumWarningBytes || this.#texts?.has(text)) return;
    const shown = shortened(text);
    (this.#texts ??= new Set()).add(shown);
    this.#length += shown.length;
  }

  /** The answer with the warnings that fit. */
  addTo(response: HttpResponse): HttpResponse {
    if (this.#texts !== undefined) addWarnings(response, this.#texts);
    return response;
  }
}

/** Appends sentences to an answer's Warning headers: after the existing ones, without duplicates, as many as fit. */
export function addWarnings(response: HttpResponse, texts: readonly string[] | ReadonlySet<string>): void {
  // Almost no request has warnings: without them, nothing else is done here.
  if (("size" in texts ? texts.size : texts.length) === 0) return;
  const values = new Set([response.headers["warning"] ?? []].flat());
  const countBefore = values.size;
  let totalBytes = 0;
  for (const value of values) totalBytes += value.length;
  for (const text of texts) {
    const value = warningValue(text);
    if (values.has(value)) continue;
    totalBytes += value.length;
    if (totalBytes > maximumWarningBytes) break;
    values.add(value);
  }
  if (values.size > countBefore) response.headers["warning"] = [...values];
}

/** The Warning header for a sentence: code 299, no agent (RFC 7234 section 5.5). */
const warningValue = (text: string): string => `299 - ${quoted(text)}`;

/** A quoted-string of RFC 9110. Control characters become spaces; other characters are sent as UTF-8 bytes. */
function quoted(text: string): string {
  const escaped = text.replace(/\p{Cc}/gu, " ").replace(/["\\]/g, "\\$&");
  return `"${headerOctets(escaped)}"`;
}
