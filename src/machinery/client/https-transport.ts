import https from "node:https";
import { tracedTransport } from "./traced-transport.ts";
import type { ClientRequest, ClientResponse, Transport } from "./transport.ts";

/** The CAs to trust and the client certificate to present on a connection. */
export interface TlsCredentials {
  /** PEM of the CAs that the server's certificate must chain to. Default: the system's CAs. */
  readonly caCertificates?: string;
  readonly clientCertificate?: { readonly certificate: string; readonly key: string };
}

/** How to reach a server and authenticate to it. Credentials are read again for each request. */
export interface HttpsTransportOptions extends TlsCredentials {
  /** `https://host:port`, optionally with a path prefix. */
  readonly server: string;
  /**
   * For credentials that change; replaces `caCertificates` and `clientCertificate`. Called before each request. When it
   * returns a different object, new connections are opened. Running requests finish on the old ones, which are then
   * closed.
   */
  readonly tlsCredentials?: () => TlsCredentials;
  /** The name that the server's certificate must be valid for, if it is not the URL's host. */
  readonly serverName?: string;
  /** For development only: accepts any server certificate. */
  readonly skipsServerVerification?: boolean;
  /** Called for every request, so that a rotated token is used immediately. */
  readonly bearerToken?: () => string | undefined;
  readonly userAgent?: string;
  /** Sent with every request. A list is a header for each value. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** A request other than a watch fails after this many milliseconds without a byte; 0: never. Default 30,000. */
  readonly timeoutMilliseconds?: number;
  /**
   * A watch with bookmarks fails after this many milliseconds without a byte: the connection is dead, though nothing said
   * so. Default 120,000, since servers send a bookmark every minute.
   */
  readonly watchIdleMilliseconds?: number;
}

/** What a connection trusts. As in Go, each of these certificates is an anchor, whether it is a root or below one. */
export const trusting = (
  caCertificates: string | undefined,
): Pick<https.AgentOptions, "ca" | "allowPartialTrustChain"> =>
  caCertificates === undefined ? {} : { ca: caCertificates, allowPartialTrustChain: true };

/**
 * An HTTPS transport that keeps connections open. It goes through the proxy that HTTPS_PROXY names, except to the hosts of
 * NO_PROXY.
 */
export function httpsTransport(options: HttpsTransportOptions): Transport {
  const base = new URL(options.server);
  if (base.protocol !== "https:") throw new TypeError(`the server's URL must begin with https://: ${options.server}`);
  const connections = new Connections(options);
  const prefix = base.pathname.replace(/\/$/, "");
  return tracedTransport({
    send: (request) => send(request, { base, prefix, agent: connections.current(), options }),
    close: () => connections.close(),
  });
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const knowsProxies = major > 24 || (major === 24 && minor >= 5);

/** Whether the environment names a proxy that this version of Node.js does not use: connections are direct then. */
export const isProxyIgnored = (environment: NodeJS.ProcessEnv): boolean =>
  !knowsProxies && Boolean(environment["HTTPS_PROXY"] ?? environment["https_proxy"]);

/** Open connections, all made with the newest credentials. */
class Connections {
  readonly #options: HttpsTransportOptions;
  readonly #retired = new Set<https.Agent>();
  #credentials: TlsCredentials;
  #agent: https.Agent;

  constructor(options: HttpsTransportOptions) {
    this.#options = options;
    this.#credentials = options.tlsCredentials?.() ?? options;
    this.#agent = this.#open();
  }

  current(): https.Agent {
    const credentials = this.#options.tlsCredentials?.() ?? this.#options;
    if (credentials !== this.#credentials) {
      this.#credentials = credentials;
      this.#retire(this.#agent);
      this.#agent = this.#open();
    }
    return this.#agent;
  }

  close(): void {
    for (const agent of [this.#agent, ...this.#retired]) agent.destroy();
  }

  #open(): https.Agent {
    const { caCertificates, clientCertificate } = this.#credentials;
    const { serverName, skipsServerVerification } = this.#options;
    return new https.Agent({
      keepAlive: true,
      // As in Go, a loopback address is never reached through a proxy.
      ...(!isLoopback(new URL(this.#options.server).hostname) && { proxyEnv: process.env }),
      ...trusting(caCertificates),
      ...(clientCertificate !== undefined && { cert: clientCertificate.certificate, key: clientCertificate.key }),
      ...(serverName !== undefined && { servername: serverName }),
      rejectUnauthorized: skipsServerVerification !== true,
    });
  }

  /**
   * Closes idle connections now and busy ones after their request, so that no request fails because credentials
   * changed.
   */
  #retire(agent: https.Agent): void {
    agent.maxFreeSockets = 0;
    for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
    for (const old of this.#retired) if (Object.keys(old.sockets).length === 0) this.#retired.delete(old);
    this.#retired.add(agent);
  }
}

interface Wire {
  readonly base: URL;
  readonly prefix: string;
  readonly agent: https.Agent;
  readonly options: HttpsTransportOptions;
}

function send(request: ClientRequest, { base, prefix, agent, options }: Wire): Promise<ClientResponse> {
  const token = options.bearerToken?.();
  return new Promise((resolve, reject) => {
    const outgoing = https.request(
      {
        host: base.hostname,
        port: base.port === "" ? 443 : base.port,
        method: request.method,
        path: `${prefix}${request.path}${request.query === undefined || request.query === "" ? "" : `?${request.query}`}`,
        headers: {
          "user-agent": options.userAgent ?? "signet",
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(request.body !== undefined && { "content-length": Buffer.byteLength(request.body) }),
          ...options.headers,
          ...request.headers,
        },
        agent,
        ...(request.signal !== undefined && { signal: request.signal }),
        timeout: longestSilenceMilliseconds(request, options),
      },
      (incoming) => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming }),
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer from ${base.host} in time`)));
    outgoing.on("error", reject);
    outgoing.end(request.body);
  });
}

/** A watch without bookmarks may be silent until its own end, and a little longer. */
function longestSilenceMilliseconds({ query }: ClientRequest, options: HttpsTransportOptions): number {
  const { timeoutMilliseconds = 30_000, watchIdleMilliseconds = 120_000 } = options;
  const parameters = new URLSearchParams(query);
  if (parameters.get("watch") !== "true") return timeoutMilliseconds;
  if (parameters.get("allowWatchBookmarks") === "true") return watchIdleMilliseconds;
  return Number(parameters.get("timeoutSeconds")) * 1000 + timeoutMilliseconds;
}

const isLoopback = (host: string): boolean => /^(localhost|127\.[\d.]+|\[::1\])$/.test(host);
