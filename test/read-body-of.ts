import { bodyTooLarge } from "../src/machinery/api/api-error.ts";
import type { HttpRequest } from "../src/machinery/api/http-message.ts";

/** What reads the body of a request that came over no connection. */
export const readBodyOf =
  (bytes: Buffer): HttpRequest["readBody"] =>
  async (maximumBytes = Infinity) => {
    if (bytes.length > maximumBytes) throw bodyTooLarge(maximumBytes);
    return bytes;
  };
