import { badRequest } from "../api/api-error.ts";
import type { Headers } from "../api/http-message.ts";

/**
 * Throws a 400 for a second Host or one that is no host (RFC 9112 section 3.2), and for a header value that starts or ends with a blank
 * (RFC 9113 section 8.2.1). HTTP/1.1's parser strips such blanks; in HTTP/2 they make the request malformed. A reader that took the blank
 * as part of a user name would see a different user.
 */
export function refuseMalformedHeaders(headers: Headers): void {
  for (const name in headers) {
    const value = headers[name];
    if (name === "host") {
      if (typeof value !== "string") throw badRequest("there is more than one Host header");
      if (!hostSyntax.test(value)) throw badRequest("the value of the header Host is not a host");
    }
    if (typeof value === "string" ? hasOuterBlank(value) : value?.some(hasOuterBlank)) {
      throw badRequest(`the value of the header ${JSON.stringify(name)} begins or ends with a blank`);
    }
  }
}

/** The characters that a host and a port may have (RFC 3986 section 3.2.2). Empty where the client's URL has no host. */
const hostSyntax = /^[\w.:~!$&'()*+,;=%[\]-]*$/;

const hasOuterBlank = (value: string): boolean =>
  value !== "" && (isBlank(value.charCodeAt(0)) || isBlank(value.charCodeAt(value.length - 1)));

const isBlank = (character: number): boolean => character === 0x20 || character === 0x09;
