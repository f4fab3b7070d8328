import type { HttpResponse } from "../api/http-message.ts";

export const plainText = (status: number, text: string): HttpResponse => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  body: text,
});

/** A text of another type. */
export function typedText(text: string, contentType: string): HttpResponse {
  const response = plainText(200, text);
  response.headers["content-type"] = contentType;
  return response;
}

/** The answer for a path outside every API group (upstream: Go's `http.NotFound`). */
export const pageNotFound = (): HttpResponse => plainText(404, "404 page not found\n");
