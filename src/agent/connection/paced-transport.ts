import type { Clock, Sleep } from "../../machinery/api/clock.ts";
import type { ClientResponse, Transport } from "../../machinery/client/transport.ts";

/** How much longer a body rests than it was worked on. */
const restShare = 4;
/** Shorter rests are put together: a timer costs as much. */
const shortestRestMilliseconds = 20;
/** A consumer may have waited for something else meanwhile, and that was no work. */
const longestRestMilliseconds = 1000;

/**
 * Reads bodies no faster than a fifth of the time allows: a server that sends without a pause, as a watch that never ends its changes,
 * must not keep a machine busy. The server has to wait meanwhile.
 */
export const pacedTransport = (
  transport: Transport,
  times: { readonly monotonic: Clock; readonly sleep: Sleep },
): Transport => ({
  async send(request) {
    const response = await transport.send(request);
    const { signal = new AbortController().signal } = request;
    return { ...response, body: paced(response.body, { ...times, signal }) };
  },
  close: () => transport.close(),
});

interface Pace {
  readonly monotonic: Clock;
  readonly sleep: Sleep;
  readonly signal: AbortSignal;
}

async function* paced(body: ClientResponse["body"], { monotonic, sleep, signal }: Pace): ClientResponse["body"] {
  let restMilliseconds = 0;
  for await (const chunk of body) {
    const since = monotonic.now();
    yield chunk;
    restMilliseconds += restShare * (monotonic.now() - since);
    if (restMilliseconds < shortestRestMilliseconds) continue;
    await sleep(Math.min(restMilliseconds, longestRestMilliseconds), signal);
    restMilliseconds = 0;
  }
}
