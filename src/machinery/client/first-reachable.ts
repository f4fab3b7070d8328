import type { Clock } from "../api/clock.ts";
import { explainedAnswer } from "./explained-answer.ts";
import type { Transport } from "./transport.ts";

/** After this time on another server, the first server is tried again. */
const returnMilliseconds = 5 * 60_000;

/**
 * One transport over several servers with the same data, in the order of preference. A request goes to one server only. When the server
 * gives no answer, or breaks its answer off, the request fails and the next request goes to the next server. So no write is sent twice,
 * and the retry of the caller reaches the next server.
 */
export function firstReachable(
  transports: readonly Transport[],
  { monotonic }: { readonly monotonic: Clock },
): Transport {
  let current = 0;
  let since = 0;
  return {
    async send(request) {
      if (current !== 0 && monotonic.now() - since >= returnMilliseconds) current = 0;
      const index = current;
      const transport = transports[index];
      if (transport === undefined) throw new Error("there is no server");
      const failed = (error: unknown): unknown => {
        // A request that the caller has aborted says nothing about the server.
        if (request.signal?.aborted !== true && current === index) {
          current = (index + 1) % transports.length;
          since = monotonic.now();
        }
        return error;
      };
      return explainedAnswer(() => transport.send(request), failed);
    },
    close: () => {
      for (const transport of transports) transport.close();
    },
  };
}
