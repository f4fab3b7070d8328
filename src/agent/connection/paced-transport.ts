import type { Clock, Sleep } from "../../machinery/api/clock.ts";
import type { ClientResponse, Transport } from "../../machinery/client/transport.ts";

/** The pause after work on a body, as a multiple of that work's duration. */
const restShare = 4;
/** Shorter pauses are added up, because a timer itself costs as much. */
const shortestRestMilliseconds = 20;
/** A consumer may also have waited for something else, which was no work. */
const longestRestMilliseconds = 1000;

/**
 * Reads bodies for at most a fifth of the time. A server that sends without a pause, such as in a watch whose changes never end, must not
 * keep a machine busy. It has to wait during the pauses.
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
