import type { IncomingMessage } from "node:http";
import type { Headers } from "../../../api/http-message.ts";

/** A request of HTTP/1.1 without its body. */
export interface Http1Head {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly headers: Headers;
}

type SentHead = Pick<IncomingMessage, "method" | "url" | "rawHeaders" | "httpVersionMinor">;

/** `scheme://authority` and the rest. An authority with a user name or password is invalid (RFC 9110 section 4.2.4). */
const absoluteForm = /^(https?):\/\/((?:[\w.-]+|\[[\d.:a-f]+\])(?::\d{1,5})?)([/?].*)?$/i;

/**
 * Reads the request line and the headers. A target in absolute form, as clients send it to proxies, is converted to its path and query,
 * with its authority as the Host (RFC 9112 section 3.2.2), so that later steps see only one form. Undefined for every other target: `*`,
 * another scheme than the connection's, an invalid authority. Undefined also for a body with another transfer coding than `chunked`, which
 * Node.js would not decode, and for a body with any transfer coding in HTTP/1.0, which does not have them: a proxy of that version takes
 * the body for the next request (RFC 9112 section 6.1).
 */
export function http1Head(
  { method = "", url = "", rawHeaders, httpVersionMinor }: SentHead,
  scheme: "https" | "http",
): Http1Head | undefined {
  const headers = headersOf(rawHeaders);
  const coding = headers["transfer-encoding"];
  const isChunked = typeof coding === "string" && coding.toLowerCase() === "chunked";
  if (coding !== undefined && !(isChunked && httpVersionMinor > 0)) return undefined;
  if (url.startsWith("/")) return { method, target: url, headers };
  const [, sentScheme, authority, rest = "/"] = absoluteForm.exec(url) ?? [];
  if (sentScheme?.toLowerCase() !== scheme || authority === undefined) return undefined;
  // Several Host headers are refused later, whatever the target is.
  if (!Array.isArray(headers["host"])) headers["host"] = authority;
  return { method, target: rest.startsWith("/") ? rest : `/${rest}`, headers };
}

/** Names in lower case, repeated headers as arrays in order of arrival. */
export function headersOf(rawHeaders: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.create(null);
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase();
    const value = rawHeaders[at + 1] ?? "";
    const known = headers[name];
    if (known === undefined) headers[name] = value;
    else if (typeof known === "string") headers[name] = [known, value];
    else known.push(value);
  }
  return headers;
}
