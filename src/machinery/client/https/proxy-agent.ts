import type { ClientRequest } from "node:http";
import https from "node:https";
import type { Duplex } from "node:stream";
import { isLoopback } from "../../api/addresses/is-loopback.ts";
import { messageOf } from "../../api/thrown-error.ts";
import { isExemptFromProxy } from "./is-exempt-from-proxy.ts";
import type { TlsServer } from "./tls-options.ts";

function canUseProxies(nodeVersion: string): boolean {
  const [major = 0, minor = 0] = nodeVersion.split(".").map(Number);
  return major > 24 || (major === 24 && minor >= 5);
}

/** Whether this version of Node.js can go through a proxy. */
export const knowsProxies = canUseProxies(process.versions.node);

/** The proxy that the environment names. As in Go and curl, the default scheme is `http`. Undefined: no proxy. */
function namedProxy(environment: NodeJS.ProcessEnv): string | undefined {
  const named = environment["HTTPS_PROXY"] || environment["https_proxy"] || undefined;
  return named === undefined || named.includes("://") ? named : `http://${named}`;
}

/** Whether connections can go through a proxy of this URL. */
export const isProxyUrl = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

/** Why the proxy of the environment is ignored, so that connections are direct. Undefined: it is used, or no proxy is named. */
export const ignoredProxy = (
  environment: NodeJS.ProcessEnv,
  nodeVersion: string = process.versions.node,
): string | undefined =>
  namedProxy(environment) !== undefined && !canUseProxies(nodeVersion)
    ? `HTTPS_PROXY is not used: Node.js 24.5 or later is needed for it, and this is v${nodeVersion}`
    : undefined;

const namesException = (environment: NodeJS.ProcessEnv, server: string): boolean =>
  isExemptFromProxy(server, environment["NO_PROXY"] || environment["no_proxy"] || "");

/**
 * The proxy for connections to a server: the server's own, or the proxy of the environment. As in Go, the latter is never used for a
 * loopback address. Undefined for direct connections.
 */
export function proxyFor({ server, proxyUrl }: TlsServer): string | undefined {
  if (!knowsProxies) return undefined;
  if (proxyUrl !== undefined) return proxyUrl;
  return isLoopback(new URL(server).hostname) || namesException(process.env, server)
    ? undefined
    : namedProxy(process.env);
}

type Connected = Parameters<https.Agent["createConnection"]>[1];

/**
 * An HTTPS agent whose connections go through the proxy of the server or of the environment. If the proxy cannot be used, it opens no
 * connection, because the proxy may be there to prevent direct connections.
 */
export class ProxyAgent extends https.Agent {
  readonly #canConnect: boolean;
  #newest: Duplex | null | undefined;

  constructor(server: TlsServer, options: https.AgentOptions) {
    const proxy = proxyFor(server);
    const canUseProxy = proxy !== undefined && isProxyUrl(proxy);
    // Normalized, because Node.js would connect directly for `HTTP://`. Without NO_PROXY, for which Node.js knows fewer patterns than Go.
    super({ ...options, ...(canUseProxy && { proxyEnv: { HTTPS_PROXY: new URL(proxy).href } }) });
    this.#canConnect = proxy === undefined || canUseProxy;
  }

  override createConnection(options: https.RequestOptions, connected: Connected): Duplex | null | undefined {
    if (!this.#canConnect) {
      // The URL may have a password in it.
      const fault = new Error("HTTPS_PROXY does not name one that begins with http:// or https://");
      throw Object.assign(fault, { code: "ERR_PROXY_TUNNEL" });
    }
    this.#newest = super.createConnection(options, connected);
    return this.#newest;
  }

  /**
   * Limits the time for a tunnel; call it right after a request was made. While a proxy opens a tunnel, Node.js (26.10) ends neither an
   * aborted request nor one that gets no bytes. It also keeps the connection to a proxy that refuses. This ends the connection, and reports
   * why.
   */
  boundTunnel(request: ClientRequest, { signal, milliseconds, onEnded }: TunnelBounds): void {
    const connection = this.#newest;
    this.#newest = undefined;
    if (connection === undefined || connection === null) return;
    const end = (reason: unknown): void => {
      done();
      connection.once("error", () => {}).destroy();
      onEnded(reason);
    };
    const onAbort = (): void => end(signal?.reason);
    const late = (): void => end(Object.assign(new Error("it made no tunnel in time"), { code: "ERR_PROXY_TUNNEL" }));
    const timer = milliseconds > 0 ? setTimeout(late, milliseconds) : undefined;
    signal?.addEventListener("abort", onAbort, { once: true });
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    request.once("socket", done).once("close", () => {
      done();
      if (request.socket === null) connection.once("error", () => {}).destroy();
    });
  }
}

interface TunnelBounds {
  readonly signal: AbortSignal | undefined;
  /** 0: no limit. */
  readonly milliseconds: number;
  /** Called with the reason when no connection was established in time. */
  readonly onEnded: (reason: unknown) => void;
}

/**
 * Converts the error of a request that got no socket. A request without a proxy has a socket before it is connected, so here the proxy was
 * not reached: the error gets the code of a proxy that opens no tunnel. If all addresses of a proxy fail, they are one error.
 */
export function proxyFault(error: NodeJS.ErrnoException): Error {
  const isOfConnecting =
    error instanceof AggregateError || error.syscall === "connect" || error.syscall === "getaddrinfo";
  return isOfConnecting
    ? Object.assign(new Error(messageOf(error), { cause: error }), { code: "ERR_PROXY_TUNNEL" })
    : error;
}
