import { tracingChannel } from "node:diagnostics_channel";
import type { ClientResponse, Transport } from "./transport.ts";
import { currentActivity } from "../tracing/activity.ts";
import type { Activity } from "../tracing/activity.ts";

/**
 * One request of this process to a server, as subscribers of `signet:client` get it: before it is sent (`start`), and the same
 * object once its answer begins or there was none (`asyncEnd`). It holds no header, no query and no body.
 */
export interface TracedClientRequest {
  readonly method: string;
  readonly path: string;
  /** What it is sent for. Undefined: nothing that is traced. */
  readonly activity: Activity | undefined;
  /** Of `performance.now()`. */
  readonly startedAt: number;
  /** A subscriber of `start` may set it: the header of that name (W3C Trace Context). */
  traceparent?: string;
  readonly result?: ClientResponse;
  readonly error?: unknown;
}

export const clientChannel = tracingChannel<TracedClientRequest>("signet:client");

/** Publishes each request. Without a subscriber there is no extra work. */
export const tracedTransport = (transport: Transport): Transport => ({
  send(request) {
    if (!clientChannel.hasSubscribers) return transport.send(request);
    const traced: TracedClientRequest = {
      method: request.method,
      path: request.path,
      activity: currentActivity.getStore(),
      startedAt: performance.now(),
    };
    return clientChannel.tracePromise(() => {
      const { traceparent } = traced;
      return transport.send(
        traceparent === undefined ? request : { ...request, headers: { ...request.headers, traceparent } },
      );
    }, traced);
  },
  close: () => transport.close(),
});
