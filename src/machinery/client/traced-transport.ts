import { tracingChannel } from "node:diagnostics_channel";
import type { ClientResponse, Transport } from "./transport.ts";
import { currentActivity } from "../tracing/activity.ts";
import type { Activity } from "../tracing/activity.ts";

/**
 * A request of this process to a server, for subscribers of `signet:client`: before it is sent (`start`), and again when its
 * answer begins or it has failed (`asyncEnd`). It has no header, query or body.
 */
export interface TracedClientRequest {
  readonly method: string;
  readonly path: string;
  /** The traced work that the request is a part of. Undefined: no traced work. */
  readonly activity: Activity | undefined;
  /** Milliseconds, as `performance.now()` counts them. */
  readonly startedAt: number;
  /** The value of the header of this name (W3C Trace Context). A subscriber of `start` may set it. */
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
