import https from "node:https";
import { isLoopback } from "../api/is-loopback.ts";
import { connectionTimeout } from "./connections.ts";
import type { Connections, WireRequest } from "./connections.ts";
import { tlsOptions } from "./tls-options.ts";
import type { TlsCredentials, TlsServer } from "./tls-options.ts";
import type { ClientResponse } from "./transport.ts";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
/** Whether this version of Node.js can go through a proxy. */
export const knowsProxies = major > 24 || (major === 24 && minor >= 5);

const namesProxy = (environment: NodeJS.ProcessEnv): boolean =>
  Boolean(environment["HTTPS_PROXY"] ?? environment["https_proxy"]);

/** Whether the environment names a proxy that this version of Node.js does not use: connections are direct then. */
export const isProxyIgnored = (environment: NodeJS.ProcessEnv): boolean => !knowsProxies && namesProxy(environment);

/**
 * Whether connections to a server may go through a proxy: its own, or that of the environment. As in Go, the latter is never used
 * for a loopback address.
 */
export const mayUseProxy = ({ server, proxyUrl }: TlsServer): boolean =>
  knowsProxies && (proxyUrl !== undefined || (namesProxy(process.env) && !isLoopback(new URL(server).hostname)));

const proxyEnvironment = ({ proxyUrl }: TlsServer): NodeJS.ProcessEnv =>
  proxyUrl === undefined ? process.env : { HTTPS_PROXY: proxyUrl };

/**
 * An error of a request that got no connection. Without a proxy it has a socket before it is connected, so the proxy was not
 * reached: the error then has the code of a proxy that makes no tunnel.
 */
function proxyFault(error: NodeJS.ErrnoException): Error {
  const isOfConnecting = error.syscall === "connect" || error.syscall === "getaddrinfo";
  return isOfConnecting
    ? Object.assign(new Error(error.message, { cause: error }), { code: "ERR_PROXY_TUNNEL" })
    : error;
}

/** HTTP/1.1: a connection for each request that is under way. They go through the server's proxy, or that of the environment. */
export class Http1Connections implements Connections {
  readonly #server: TlsServer;
  readonly #agent: https.Agent;

  constructor(server: TlsServer, credentials: TlsCredentials) {
    this.#server = server;
    this.#agent = new https.Agent({
      keepAlive: true,
      ...(mayUseProxy(server) && { proxyEnv: proxyEnvironment(server) }),
      ...tlsOptions(server, credentials),
    });
  }

  send({ method, path, headers, body, signal, silenceMilliseconds }: WireRequest): Promise<ClientResponse> {
    return new Promise((resolve, reject) => {
      const outgoing = https.request(
        { method, path, headers, agent: this.#agent, timeout: silenceMilliseconds, ...(signal && { signal }) },
        (incoming) => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming }),
      );
      outgoing.on("timeout", () => outgoing.destroy(connectionTimeout(this.#server)));
      outgoing.on("error", (error) => reject(outgoing.socket === null ? proxyFault(error) : error));
      outgoing.end(body);
    });
  }

  retire(): void {
    this.#agent.maxFreeSockets = 0;
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  get isIdle(): boolean {
    return Object.keys(this.#agent.sockets).length === 0;
  }

  close(): void {
    this.#agent.destroy();
  }
}
