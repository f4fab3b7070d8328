import type { ClientResponse } from "./transport.ts";

/** A body that fails with what `explain` makes of its error. */
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
