import type { ClientResponse } from "./transport.ts";

/** Sends a request. Errors of the request, and of reading the body of its answer, are converted with `explain`. */
export async function explainedAnswer(
  send: () => Promise<ClientResponse>,
  explain: (error: unknown) => unknown,
): Promise<ClientResponse> {
  async function* explained(body: ClientResponse["body"]): ClientResponse["body"] {
    try {
      yield* body;
    } catch (error) {
      throw explain(error);
    }
  }
  try {
    const answer = await send();
    return { ...answer, body: explained(answer.body) };
  } catch (error) {
    throw explain(error);
  }
}
