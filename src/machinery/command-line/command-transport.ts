import type { HttpsTransportOptions } from "../client/https-transport.ts";
import { httpsTransport } from "../client/https-transport.ts";
import type { ClientRequest, ClientResponse, Transport } from "../client/transport.ts";
import { CommandFailure } from "./command-failure.ts";
import { connectionFailure, noAnswerInTime } from "./connection-failure.ts";
import { isRefusedLogin, refusedCredentials } from "./refused-credentials.ts";

/** The longest text that the runtime can hold, about: a larger answer could not be read anyway. */
const largestAnswerBytes = 500 * 2 ** 20;

export interface CommandTransportOptions {
  readonly transport: HttpsTransportOptions;
  /** For each answer, from the request to its last byte; 0 is no limit. Watches end by their own signal. */
  readonly timeoutMilliseconds: number;
}

/** How commands reach a server: every answer is bounded in time and bytes, and every failure is explained. */
export function commandTransport({ transport, timeoutMilliseconds }: CommandTransportOptions): Transport {
  // The bound on the whole answer takes the place of the bound between two bytes.
  const https = httpsTransport({ ...transport, timeoutMilliseconds: 0 });
  return {
    async send(request) {
      const isWatch = new URLSearchParams(request.query).has("watch");
      const timeout = isWatch || timeoutMilliseconds === 0 ? undefined : AbortSignal.timeout(timeoutMilliseconds);
      const explain = (error: unknown): unknown => {
        if (timeout?.aborted === true) return noAnswerInTime(transport.server, timeoutMilliseconds);
        return request.signal?.aborted === true ? error : connectionFailure(error, transport.server);
      };
      try {
        const response = await https.send({ ...request, ...signalOf(request, timeout) });
        const { status } = response;
        if (isRefusedLogin(status, transport)) {
          const serverDate = String(response.headers["date"] ?? "");
          throw refusedCredentials({ status, transport, serverDate, now: Date.now() });
        }
        return { ...response, body: boundedBody(response.body, { explain, isWatch, server: transport.server }) };
      } catch (error) {
        throw explain(error);
      }
    },
    close: () => https.close(),
  };
}

function signalOf(request: ClientRequest, timeout: AbortSignal | undefined): Pick<ClientRequest, "signal"> {
  const signals = [request.signal, timeout].filter((signal) => signal !== undefined);
  return signals.length === 0 ? {} : { signal: AbortSignal.any(signals) };
}

interface BodyBounds {
  readonly explain: (error: unknown) => unknown;
  readonly isWatch: boolean;
  readonly server: string;
}

async function* boundedBody(
  body: ClientResponse["body"],
  { explain, isWatch, server }: BodyBounds,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += isWatch ? 0 : chunk.length;
      if (bytes > largestAnswerBytes) {
        throw new CommandFailure(
          `the server ${server} answers with more than ${largestAnswerBytes} bytes; ask for less`,
          {
            exit: "unreachable",
          },
        );
      }
      yield chunk;
    }
  } catch (error) {
    throw explain(error);
  }
}
