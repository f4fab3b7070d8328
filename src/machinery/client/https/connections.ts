import type { OutgoingHttpHeaders } from "node:http";
import type { ClientResponse } from "../transport.ts";

/** A request with all that goes over the connection. `path` contains the query. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body: string | undefined;
  /** Whether the server may get it twice. */
  readonly isRepeatable: boolean;
  readonly signal: AbortSignal | undefined;
  /** The request fails after this time without a byte; 0: never. */
  readonly silenceMilliseconds: number;
}

/** Connections to one server, all with the same credentials. They stay open between requests. */
export interface Connections {
  /** Rejects when there was no answer: with RequestNotTaken when the request may be sent again. */
  send(request: WireRequest): Promise<ClientResponse>;
  /** Takes no more requests. Idle connections end now, busy ones after their requests. */
  retire(): void;
  /** Whether no request is under way. */
  readonly isIdle: boolean;
  /** Ends all connections, and with them the requests that are under way. */
  close(): void;
}

/** The server has not seen the request, or says that it did nothing with it (RFC 9113 section 8.7). */
export class RequestNotTaken extends Error {
  override readonly name = "RequestNotTaken";

  constructor(options?: ErrorOptions) {
    super("the server closed the connection before it took the request", options);
  }
}

/** An error with the code of a cut HTTP/1.1 connection, so that both protocols are explained in the same words. */
export const connectionEnded = (options?: ErrorOptions): Error =>
  Object.assign(new Error("the connection ended before the answer was complete", options), { code: "ECONNRESET" });

/** An error with the code of a network that gives up, so that both are explained in the same words. */
export const connectionTimeout = ({ server }: { readonly server: string }): Error =>
  Object.assign(new Error(`no answer from ${new URL(server).hostname} in time`), { code: "ETIMEDOUT" });

/** Node.js does not send longer headers over HTTP/2. */
export const headersTooLong = (): Error =>
  Object.assign(new Error("the headers of the request have more than 64 KiB"), { code: "ERR_HTTP2_HEADERS_TOO_LONG" });

/** Whether the caller gave up because its time was over, and not because it wants no answer any more. */
export const isLate = (signal: AbortSignal | undefined): boolean =>
  signal?.reason instanceof Error && signal.reason.name === "TimeoutError";
