import type { ClientResponse } from "./transport.ts";

/** Longer times are shortened to this. */
const longestSeconds = 24 * 60 * 60;

/**
 * How long a server, or a proxy before it, asks the client to wait, in whole seconds and for a day at most (RFC 9110 section 10.2.3). A
 * date counts from the answer's own Date, because the local clock may be wrong. Undefined: the header is missing or malformed.
 */
export function retryAfterSecondsOf(headers: ClientResponse["headers"]): number | undefined {
  const text = String(headers["retry-after"] ?? "");
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((timeOf(text) - timeOf(headers["date"])) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), longestSeconds);
}

/** Milliseconds since the epoch. NaN unless it is a date of HTTP in its present form (section 5.6.7). */
const timeOf = (text: unknown): number =>
  typeof text === "string" && /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/.test(text) ? Date.parse(text) : NaN;
