import { systemSchedule } from "../../api/clock.ts";
import type { Schedule } from "../../api/clock.ts";
import { boundedAnswer } from "./bounded-answer.ts";
import type { AnswerBounds } from "./bounded-answer.ts";
import { connectionTimeout, RequestNotTaken } from "./connections.ts";
import type { Connections, WireRequest } from "./connections.ts";
import { NegotiatedConnections } from "./negotiated-connections.ts";
import type { TlsCredentials, TlsServer } from "./tls-options.ts";
import { tracedTransport } from "../traced-transport.ts";
import { bodyText } from "../transport.ts";
import type { ClientRequest, Transport } from "../transport.ts";

/** How to reach a server and authenticate to it. Credentials are read again for each request. */
export interface HttpsTransportOptions extends TlsCredentials, TlsServer {
  /**
   * For credentials that change; replaces `caCertificates` and `clientCertificate`. Called before each request. When it returns a
   * different object, new connections are opened. Running requests finish on the old connections, which are then closed.
   */
  readonly tlsCredentials?: () => TlsCredentials;
  /** Called for every request, so that a rotated token is used immediately. */
  readonly bearerToken?: () => string | undefined;
  readonly userAgent?: string;
  /** Sent with every request. A list is sent as one header for each value. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /**
   * A request other than a watch fails after this many milliseconds without a byte, and when its answer has not ended after two
   * minutes; 0: never. A new connection fails when it takes no requests after this time, or after 30 s for 0. Default 30,000.
   */
  readonly timeoutMilliseconds?: number;
  /** A longer answer fails, but not the events of a watch. Default 500 MiB: about the longest text that the runtime can hold. */
  readonly largestAnswerBytes?: number;
  /** The timers of the two minutes. */
  readonly schedule?: Schedule;
  /**
   * A watch with bookmarks fails after this many milliseconds without a byte, because the connection must be dead. Default 120,000, since
   * servers send a bookmark every minute.
   */
  readonly watchIdleMilliseconds?: number;
}

/** The CAs and the client certificate of the next request. */
export const currentCredentials = (options: HttpsTransportOptions): TlsCredentials =>
  options.tlsCredentials?.() ?? options;

/**
 * An HTTPS transport that keeps connections open: HTTP/2 where the server speaks it, else HTTP/1.1. It goes through the proxy
 * that HTTPS_PROXY names, except to the hosts of NO_PROXY.
 */
export function httpsTransport(options: HttpsTransportOptions): Transport {
  const { protocol, pathname } = new URL(options.server);
  if (protocol !== "https:") throw new TypeError(`the server's URL must begin with https://: ${options.server}`);
  const connections = new CurrentConnections(options);
  const prefix = pathname.replace(/\/$/, "");
  return tracedTransport({
    async send(request) {
      const limits = limitsOf(request, options);
      const sent = wireRequest(request, { prefix, options, silenceMilliseconds: limits.silenceMilliseconds });
      return boundedAnswer(
        async (signal) => {
          for (let tries = 1; ; tries++) {
            try {
              return await connections.get().send({ ...sent, signal });
            } catch (error) {
              if (!(error instanceof RequestNotTaken) || tries === maximumTries) throw error;
            }
          }
        },
        { ...limits, signal: request.signal, late: () => connectionTimeout(options) },
      );
    },
    close: () => connections.close(),
  });
}

const defaultTimeoutMilliseconds = 30_000;
const defaultWatchIdleMilliseconds = 120_000;
/** Servers end all requests but watches after a minute (upstream: `--request-timeout`). */
const longestAnswerMilliseconds = 120_000;
const defaultLargestAnswerBytes = 500 * 2 ** 20;
/** A server that closes a connection may close the next one too, but not all of them. */
const maximumTries = 3;

/** Connections with the newest credentials, and connections with former credentials until their requests have ended. */
class CurrentConnections {
  readonly #options: HttpsTransportOptions;
  readonly #retired = new Set<Connections>();
  #credentials: TlsCredentials;
  #connections: Connections;

  constructor(options: HttpsTransportOptions) {
    this.#options = options;
    this.#credentials = currentCredentials(options);
    this.#connections = this.#open();
  }

  get(): Connections {
    const credentials = currentCredentials(this.#options);
    if (credentials !== this.#credentials) {
      this.#credentials = credentials;
      this.#retire(this.#connections);
      this.#connections = this.#open();
    }
    return this.#connections;
  }

  close(): void {
    for (const connections of [this.#connections, ...this.#retired]) connections.close();
  }

  #open(): Connections {
    // Also if requests have no time limit: all of them wait for the same new connection, which may never be established.
    const openingMilliseconds = this.#options.timeoutMilliseconds || defaultTimeoutMilliseconds;
    return new NegotiatedConnections({ server: this.#options, credentials: this.#credentials, openingMilliseconds });
  }

  /** Lets the running requests end on their connections, so that no request fails because credentials change. */
  #retire(connections: Connections): void {
    connections.retire();
    for (const old of this.#retired) if (old.isIdle) this.#retired.delete(old);
    this.#retired.add(connections);
  }
}

interface Wire {
  readonly prefix: string;
  readonly options: HttpsTransportOptions;
  readonly silenceMilliseconds: number;
}

function wireRequest(request: ClientRequest, { prefix, options, silenceMilliseconds }: Wire): WireRequest {
  const { method, path, query = "", signal, isRepeatable = method === "GET" } = request;
  const token = options.bearerToken?.();
  const body = bodyText(request);
  // A webhook may be at the root of its server. HTTP/2 allows no empty path (RFC 9113 section 8.3.1).
  const wholePath = prefix + path || "/";
  return {
    method,
    path: query === "" ? wholePath : `${wholePath}?${query}`,
    headers: {
      "user-agent": options.userAgent ?? "signet",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
      ...options.headers,
      ...request.headers,
    },
    body,
    isRepeatable,
    signal,
    silenceMilliseconds,
  };
}

/** How long a request may take, and how large its answer may be. For a watch, only the time without a byte is limited. */
function limitsOf(
  { query }: ClientRequest,
  options: HttpsTransportOptions,
): Omit<AnswerBounds, "signal" | "late"> & Pick<Wire, "silenceMilliseconds"> {
  const { timeoutMilliseconds = defaultTimeoutMilliseconds, schedule = systemSchedule } = options;
  const largestRefusalBytes = options.largestAnswerBytes ?? defaultLargestAnswerBytes;
  const parameters = new URLSearchParams(query);
  if (parameters.get("watch") !== "true") {
    return {
      schedule,
      silenceMilliseconds: timeoutMilliseconds,
      largestBytes: largestRefusalBytes,
      largestRefusalBytes,
      longestMilliseconds: timeoutMilliseconds === 0 ? Infinity : longestAnswerMilliseconds,
    };
  }
  // A watch without bookmarks may have no byte until its timeout, and a little longer.
  const silenceMilliseconds =
    parameters.get("allowWatchBookmarks") === "true"
      ? (options.watchIdleMilliseconds ?? defaultWatchIdleMilliseconds)
      : Number(parameters.get("timeoutSeconds")) * 1000 + timeoutMilliseconds;
  return { schedule, silenceMilliseconds, largestBytes: Infinity, largestRefusalBytes, longestMilliseconds: Infinity };
}
