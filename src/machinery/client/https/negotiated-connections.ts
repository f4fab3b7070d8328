import { once } from "node:events";
import { connect } from "node:tls";
import type { TLSSocket } from "node:tls";
import { messageOf } from "../../api/thrown-error.ts";
import { connectionTimeout, RequestNotTaken } from "./connections.ts";
import type { Connections, WireRequest } from "./connections.ts";
import { Http1Connections } from "./http1-connections.ts";
import { Http2Connection } from "./http2-connection.ts";
import { proxyFor } from "./proxy-agent.ts";
import { tlsOptions } from "./tls-options.ts";
import type { TlsCredentials, TlsServer } from "./tls-options.ts";
import type { ClientResponse } from "../transport.ts";

export interface NegotiatedConnectionsOptions {
  readonly server: TlsServer;
  readonly credentials: TlsCredentials;
  /** A new connection fails if it takes no requests after this time. */
  readonly openingMilliseconds: number;
}

/**
 * HTTP/2 with servers that speak it, and else HTTP/1.1. Requests share one connection of HTTP/2, until it carries as many as the server
 * accepts. Through a proxy, only HTTP/1.1 is used, because Node.js opens tunnels only for its HTTPS agent.
 */
export class NegotiatedConnections implements Connections {
  readonly #options: NegotiatedConnectionsOptions;
  readonly #http2 = new Set<Http2Connection>();
  #http1: Http1Connections | undefined;
  readonly #isProxied: boolean;
  /** Whether to use HTTP/1.1 without asking the server which protocol it speaks. */
  #isHttp1Known: boolean;
  #opening: Promise<void> | undefined;
  #handshake: TLSSocket | undefined;
  #isRetired = false;

  constructor(options: NegotiatedConnectionsOptions) {
    this.#options = options;
    this.#isProxied = this.#isHttp1Known = proxyFor(options.server) !== undefined;
    if (this.#isProxied) this.#http1 = new Http1Connections(options.server, options.credentials);
  }

  async send(request: WireRequest): Promise<ClientResponse> {
    for (;;) {
      request.signal?.throwIfAborted();
      if (this.#isRetired) throw new RequestNotTaken();
      if (this.#http1 !== undefined && this.#isHttp1Known) return this.#sendOverHttp1(this.#http1, request);
      const connection = this.#http2WithRoom();
      if (connection !== undefined) return connection.send(request);
      this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
      await unlessAborted(this.#opening, request.signal);
    }
  }

  async #sendOverHttp1(connections: Http1Connections, request: WireRequest): Promise<ClientResponse> {
    try {
      return await connections.send(request);
    } catch (error) {
      if (this.#isProxied || request.signal?.aborted === true) throw error;
      // The server may have been replaced by one that speaks only HTTP/2, so the next request asks again.
      this.#isHttp1Known = false;
      throw messageOf(error).includes(noCommonProtocol) ? new RequestNotTaken({ cause: error }) : error;
    }
  }

  retire(): void {
    this.#isRetired = true;
    for (const connection of this.#all()) connection.retire();
  }

  get isIdle(): boolean {
    return this.#opening === undefined && this.#all().every(({ isIdle }) => isIdle);
  }

  close(): void {
    this.#handshake?.destroy(new Error("the client closed its connections"));
    for (const connection of this.#all()) connection.close();
  }

  #all(): (Http1Connections | Http2Connection)[] {
    return [...this.#http2, ...(this.#http1 === undefined ? [] : [this.#http1])];
  }

  #http2WithRoom(): Http2Connection | undefined {
    for (const connection of this.#http2) if (connection.hasRoom) return connection;
    return undefined;
  }

  /** Opens a connection of HTTP/2, or finds out that the server does not speak it. Its time is limited: all requests wait for it. */
  async #open(): Promise<void> {
    const { server, credentials, openingMilliseconds } = this.#options;
    const socket = connect({ ...tlsOptions(server, credentials), ALPNProtocols: ["h2", "http/1.1"] });
    this.#handshake = socket;
    const late = (): void => void socket.destroy(connectionTimeout(server));
    const timer = setTimeout(late, openingMilliseconds);
    try {
      await once(socket, "secureConnect");
      if (this.#isRetired) {
        socket.destroy();
      } else if (socket.alpnProtocol === "h2") {
        await this.#addHttp2(socket);
      } else {
        socket.destroy();
        this.#http1 ??= new Http1Connections(server, credentials);
        this.#isHttp1Known = true;
      }
    } finally {
      clearTimeout(timer);
      this.#handshake = undefined;
    }
  }

  async #addHttp2(socket: TLSSocket): Promise<void> {
    const { server } = this.#options.server;
    const connection = new Http2Connection(socket, { server, onClose: () => this.#http2.delete(connection) });
    this.#http2.add(connection);
    await connection.ready;
    if (connection.hasRoom || this.#isRetired) return;
    // The server accepts no requests at all, so a second connection would not help.
    connection.retire();
    throw new RequestNotTaken();
  }
}

/**
 * OpenSSL's words about a server that speaks none of the protocols that the client offers (RFC 7301 section 3.2). The code of the error
 * depends on the moment when the answer comes.
 */
const noCommonProtocol = "alert no application protocol";

/** Rejects as soon as `signal` aborts, although the awaited work continues. */
function unlessAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
