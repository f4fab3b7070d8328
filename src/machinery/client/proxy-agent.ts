import type { ClientRequest } from "node:http";
import https from "node:https";
import type { Duplex } from "node:stream";
import { isLoopback } from "../api/is-loopback.ts";
import { messageOf } from "../api/thrown-error.ts";
import { isExemptFromProxy } from "./is-exempt-from-proxy.ts";
import type { TlsServer } from "./tls-options.ts";

function canUseProxies(nodeVersion: string): boolean {
  const [major = 0, minor = 0] = nodeVersion.split(".").map(Number);
  return major > 24 || (major === 24 && minor >= 5);
}

/** Whether this version of Node.js can go through a proxy. */
export const knowsProxies = canUseProxies(process.versions.node);

const namesProxy = (environment: NodeJS.ProcessEnv): boolean =>
  Boolean(environment["HTTPS_PROXY"] || environment["https_proxy"]);

/** Why the proxy of the environment is not used, so that connections are direct. Undefined where it is, and where there is none. */
export const ignoredProxy = (
  environment: NodeJS.ProcessEnv,
  nodeVersion: string = process.versions.node,
): string | undefined =>
  namesProxy(environment) && !canUseProxies(nodeVersion)
    ? `HTTPS_PROXY is not used: Node.js 24.5 or later is needed for it, and this is v${nodeVersion}`
    : undefined;

const namesException = (environment: NodeJS.ProcessEnv, server: string): boolean =>
  isExemptFromProxy(server, environment["NO_PROXY"] || environment["no_proxy"] || "");

/**
 * Whether connections to a server may go through a proxy: its own, or that of the environment. As in Go, the latter is never used
 * for a loopback address. Node.js then looks at NO_PROXY too, but knows neither networks nor the hosts below a name.
 */
export const mayUseProxy = ({ server, proxyUrl }: TlsServer): boolean =>
  knowsProxies &&
  (proxyUrl !== undefined ||
    (namesProxy(process.env) && !isLoopback(new URL(server).hostname) && !namesException(process.env, server)));

const proxyEnvironment = ({ proxyUrl }: TlsServer): NodeJS.ProcessEnv =>
  proxyUrl === undefined ? process.env : { HTTPS_PROXY: proxyUrl };

type Connected = Parameters<https.Agent["createConnection"]>[1];

/** An HTTPS agent whose connections go through the server's proxy, or that of the environment. */
export class ProxyAgent extends https.Agent {
  #newest: Duplex | null | undefined;

  constructor(server: TlsServer, options: https.AgentOptions) {
    super({ ...options, ...(mayUseProxy(server) && { proxyEnv: proxyEnvironment(server) }) });
  }

  override createConnection(options: https.RequestOptions, connected: Connected): Duplex | null | undefined {
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
