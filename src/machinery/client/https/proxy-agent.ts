import type { ClientRequest } from "node:http";
import https from "node:https";
import type { Duplex } from "node:stream";
import { isLoopback } from "../../api/is-loopback.ts";
import { messageOf } from "../../api/thrown-error.ts";
import { isExemptFromProxy } from "./is-exempt-from-proxy.ts";
import type { TlsServer } from "./tls-options.ts";

function canUseProxies(nodeVersion: string): boolean {
  const [major = 0, minor = 0] = nodeVersion.split(".").map(Number);
  return major > 24 || (major === 24 && minor >= 5);
}

/** Whether this version of Node.js can go through a proxy. */
export const knowsProxies = canUseProxies(process.versions.node);

/** The proxy that the environment names. As for Go and curl, one without a scheme is one over HTTP. Undefined without one. */
function namedProxy(environment: NodeJS.ProcessEnv): string | undefined {
  const named = environment["HTTPS_PROXY"] || environment["https_proxy"] || undefined;
  return named === undefined || named.includes("://") ? named : `http://${named}`;
}

/** Whether connections can go through a proxy of this URL. */
export const isProxyUrl = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

/** Why the proxy of the environment is not used, so that connections are direct. Undefined where it is, and where there is none. */
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
 * The proxy for connections to a server: its own, or that of the environment. As in Go, the latter is never used for a loopback
 * address. Undefined for direct connections.
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
 * An HTTPS agent whose connections go through the server's proxy, or that of the environment. With one that cannot be used it makes
 * none: a direct connection may be what the proxy is there to prevent.
 */
export class ProxyAgent extends https.Agent {
  readonly #canConnect: boolean;
  #newest: Duplex | null | undefined;

  constructor(server: TlsServer, options: https.AgentOptions) {
    const proxy = proxyFor(server);
    const canUseProxy = proxy !== undefined && isProxyUrl(proxy);
    // Node.js would connect directly for HTTP://, and knows fewer kinds of exceptions than Go: it is told of none.
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
   * Call it right after a request was made. Node.js (26.10) ends neither an aborted request nor one whose server is silent while a
   * proxy makes a tunnel for it, and keeps the connection, also to a proxy that refuses: this ends the connection, and says why.
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
  /** 0: however long it takes. */
  readonly milliseconds: number;
  /** Called with the reason when there was no connection in time. */
  readonly onEnded: (reason: unknown) => void;
}

/**
 * An error of a request that got no connection. Without a proxy it has a socket before it is connected, so the proxy was not
 * reached: the error then has the code of a proxy that makes no tunnel. Several addresses of a proxy that all fail are one error.
 */
export function proxyFault(error: NodeJS.ErrnoException): Error {
  const isOfConnecting =
    error instanceof AggregateError || error.syscall === "connect" || error.syscall === "getaddrinfo";
  return isOfConnecting
    ? Object.assign(new Error(messageOf(error), { cause: error }), { code: "ERR_PROXY_TUNNEL" })
    : error;
}
