import type { ClientResponse } from "./transport.ts";

/** The same body, but errors of its reading are converted with `explain`. */
export async function* explainedBody(
  body: ClientResponse["body"],
  explain: (error: unknown) => unknown,
): ClientResponse["body"] {
  try {
    yield* body;
  } catch (error) {
    throw explain(error);
  }
}
