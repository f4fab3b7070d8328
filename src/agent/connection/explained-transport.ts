import { connectionFault } from "../../machinery/client/https/connection-fault.ts";
import type { CaSource } from "../../machinery/client/https/connection-fault.ts";
import { explainedAnswer } from "../../machinery/client/explained-answer.ts";
import type { ClientResponse, Transport } from "../../machinery/client/transport.ts";

/** There was no answer. The message names the server, and says why and what to do. */
export class ServerUnreachable extends Error {
  override readonly name = "ServerUnreachable";
  readonly reason: string;

  constructor(server: string, { reason, cause }: { readonly reason: string; readonly cause?: Error }) {
    super(`cannot reach the server ${server}: ${reason}`, { cause });
    this.reason = reason;
  }
}

/** A transport to a server. Its errors name the server, and say what to do. */
export const explainedTransport = (
  transport: Transport,
  { server, caSource }: { readonly server: string; readonly caSource: CaSource },
): Transport => ({
  async send(request) {
    const explain = (error: unknown): unknown => {
      if (!(error instanceof Error) || request.signal?.aborted === true) return error;
      const fault = connectionFault(error, caSource);
      return fault === undefined ? error : new ServerUnreachable(server, { reason: fault.text, cause: error });
    };
    const response = await explainedAnswer(() => transport.send(request), explain);
    if (!isPage(response)) return response;
    for await (const _ of response.body) break; // ends the request: the page may be endless in place of a watch
    throw new ServerUnreachable(server, { reason: pageAdvice });
  },
  close: () => transport.close(),
});

/** Whether an answer is a web page of a proxy, or of a network's login, or leads to one. No API server answers so. */
const isPage = ({ status, headers }: ClientResponse): boolean =>
  (status >= 300 && status < 400) || (status < 300 && /^text\/html\b/i.test(String(headers["content-type"])));

const pageAdvice =
  "a web page, or a way to one, came in place of its answer, as of a proxy or a login; check the server's URL, and the proxy";
