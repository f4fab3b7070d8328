import type { OutgoingHttpHeaders } from "node:http";
import type { ClientResponse } from "../transport.ts";

/** A request as it is sent over a connection. `path` contains the query. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body: string | undefined;
  /** Whether the request may be sent twice. */
  readonly isRepeatable: boolean;
  readonly signal: AbortSignal | undefined;
  /** The request fails after this time without a byte; 0: never. */
  readonly silenceMilliseconds: number;
}

/** Connections to one server, all with the same credentials. They stay open between requests. */
export interface Connections {
  /** Sends a request. Rejects when it gets no answer, with RequestNotTaken when it may be sent again. */
  send(request: WireRequest): Promise<ClientResponse>;
  /** Takes no more requests. Idle connections end now, busy ones after their requests. */
  retire(): void;
  /** Whether no request is under way. */
  readonly isIdle: boolean;
  /** Ends all connections, and with them the requests that are under way. */
  close(): void;
}

/** The server has not received the request, or says that it has not processed it (RFC 9113 section 8.7). */
export class RequestNotTaken extends Error {
  override readonly name = "RequestNotTaken";

  constructor(options?: ErrorOptions) {
    super("the server closed the connection before it took the request", options);
  }
}

/** An error with the code that Node.js gives a broken HTTP/1.1 connection, so that both protocols get the same explanation. */
export const connectionEnded = (options?: ErrorOptions): Error =>
  Object.assign(new Error("the connection ended before the answer was complete", options), { code: "ECONNRESET" });

/** An error with the code of a network timeout, so that both timeouts get the same explanation. */
export const connectionTimeout = ({ server }: { readonly server: string }): Error =>
  Object.assign(new Error(`no answer from ${new URL(server).hostname} in time`), { code: "ETIMEDOUT" });

/** The error for headers that are too long: Node.js does not send them over HTTP/2. */
export const headersTooLong = (): Error =>
  Object.assign(new Error("the headers of the request have more than 64 KiB"), { code: "ERR_HTTP2_HEADERS_TOO_LONG" });

/** Whether the signal was aborted by a timeout, and not for another reason. */
export const isLate = (signal: AbortSignal | undefined): boolean =>
  signal?.reason instanceof Error && signal.reason.name === "TimeoutError";
