import type { Headers } from "../api/http-message.ts";

/** The first value of a header, with a character for each octet that was sent. Undefined: the header was not sent. */
export function firstSent(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "object" ? value[0] : value;
}

/** The value of a header that was sent once. Undefined: it was not sent, or several times. */
export function sentOnce(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : undefined;
}
