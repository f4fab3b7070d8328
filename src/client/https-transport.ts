import https from "node:https";
import type { ClientRequest, ClientResponse, Transport } from "./transport.ts";

/** What is needed to reach a server and to prove who one is. Credentials are read anew for each request. */
export interface HttpsTransportOptions {
  /** `https://host:port`, perhaps with a path prefix. */
  readonly server: string;
  /** PEM of the CAs that the server's certificate must chain to. Default: the system's. */
  readonly caCertificates?: string;
  /** The name that the server's certificate must be valid for, where it is not the host's. */
  readonly serverName?: string;
  /** For development only: accepts any server certificate. */
  readonly skipsServerVerification?: boolean;
  readonly clientCertificate?: { readonly certificate: string; readonly key: string };
  /** Called for every request, so that a rotated token is used at once. */
  readonly bearerToken?: () => string | undefined;
  readonly userAgent?: string;
  /** Milliseconds without a byte before a request that is not a watch fails. Default 30,000. */
  readonly timeoutMilliseconds?: number;
}

/** A transport over HTTPS with connections kept open. */
export function httpsTransport(options: HttpsTransportOptions): Transport {
  const base = new URL(options.server);
  if (base.protocol !== "https:") throw new TypeError(`the server's URL must begin with https://: ${options.server}`);
  const agent = new https.Agent({
    keepAlive: true,
    ...(options.caCertificates !== undefined && { ca: options.caCertificates }),
    ...(options.clientCertificate !== undefined && {
      cert: options.clientCertificate.certificate,
      key: options.clientCertificate.key,
    }),
    ...(options.serverName !== undefined && { servername: options.serverName }),
    rejectUnauthorized: options.skipsServerVerification !== true,
  });
  const prefix = base.pathname.replace(/\/$/, "");
  return {
    send: (request) => send(request, { base, prefix, agent, options }),
    close: () => agent.destroy(),
  };
}

interface Wire {
  readonly base: URL;
  readonly prefix: string;
  readonly agent: https.Agent;
  readonly options: HttpsTransportOptions;
}

function send(request: ClientRequest, { base, prefix, agent, options }: Wire): Promise<ClientResponse> {
  const token = options.bearerToken?.();
  const isWatch = request.query?.includes("watch=") ?? false;
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
          ...request.headers,
        },
        agent,
        ...(request.signal !== undefined && { signal: request.signal }),
        ...(!isWatch && { timeout: options.timeoutMilliseconds ?? 30_000 }),
      },
      (incoming) => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming }),
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer from ${base.host} in time`)));
    outgoing.on("error", reject);
    outgoing.end(request.body);
  });
}
