import type { HttpResponse } from "./http-message.ts";

/** Whether the body of an answer is complete. Otherwise it is written over time. */
export const isWholeBody = (body: HttpResponse["body"]): body is string | Buffer =>
  typeof body === "string" || Buffer.isBuffer(body);
