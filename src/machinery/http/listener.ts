import { constants } from "node:crypto";
import type { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { performServerHandshake } from "node:http2";
import type { ServerHttp2Session, ServerOptions } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { SecureContextOptions, TLSSocket } from "node:tls";
import type { Handler } from "../api/http-message.ts";
import { occasionally } from "../api/occasionally.ts";
import { periodically } from "../api/periodically.ts";
import { ConnectionBound } from "./connection-bound.ts";
import type { ConnectionLimits } from "./connection-bound.ts";
import type { Exchange, ExchangeContext } from "./exchange.ts";
import { Http1Exchange, refuseMalformed } from "./http1-exchange.ts";
import { serveSession } from "./http2-exchange.ts";
import { TlsConnection } from "./tls-connection.ts";

/** A PEM certificate chain and its PEM private key. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface ListenerLimits extends ConnectionLimits {
  readonly bodyBytes: number;
  readonly headerBytes: number;
  readonly headerCount: number;
  /** Streams at the same time in one HTTP/2 connection. */
  readonly concurrentStreams: number;
  /** From the first header to the last byte of the answer; watches have no such end. */
  readonly requestSeconds: number;
  /** Until the TLS handshake or an HTTP/1.1 request's header is there. */
  readonly handshakeSeconds: number;
  /** A connection with no request for so long is closed. */
  readonly idleSeconds: number;
  /** HTTP/2 resets that a client may send at once, and then each second (CVE-2023-44487). */
  readonly resetBurst: number;
  readonly resetsPerSecond: number;
}

const defaultLimits: ListenerLimits = {
  connections: 10_000,
  connectionsPerAddress: 1000,
  bodyBytes: 3 * 1024 * 1024,
  headerBytes: 64 * 1024,
  headerCount: 512,
  concurrentStreams: 250,
  requestSeconds: 60,
  handshakeSeconds: 15,
  idleSeconds: 120,
  resetBurst: 1000,
  resetsPerSecond: 100,
};

export interface ListenerOptions {
  readonly handler: Handler;
  readonly certificate: ServingCertificate;
  readonly limits?: Partial<ListenerLimits>;
  readonly log?: ListenerLog;
}

/** pino's shape, as far as it is used. */
interface ListenerLog {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What an idle session gets to close its side, once it was told that this one is closed. */
const closingSeconds = 5;

interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** Other processes of this user listen there too, and the system spreads connections over them (SO_REUSEPORT). */
  readonly isPortShared?: boolean;
}

export interface Listener {
  /** Resolves with the port that is really used (0 picks one). Rejects when it can't be bound. */
  listen(address: ListenAddress): Promise<number>;
  /** New connections get this certificate; open ones keep theirs. */
  setCertificate(certificate: ServingCertificate): void;
  /** Stops accepting, ends watches, waits for requests up to the grace, then cuts what is left. */
  close(options: { readonly graceMilliseconds: number }): Promise<void>;
  /** Watches that are open now. */
  openStreams(): number;
  /** Ends what is overdue; called each second by the listener itself. */
  sweep(): void;
}

/**
 * HTTPS with HTTP/2 (through stream events) and HTTP/1.1 on one port. Client certificates are asked for and not judged:
 * that is the authenticators' work, on every connection, since sessions are never resumed.
 */
export function createListener({ handler, certificate, limits: changes, log }: ListenerOptions): Listener {
  const limits = { ...defaultLimits, ...changes };
  const context: ExchangeContext = {
    handler,
    maximumBodyBytes: limits.bodyBytes,
    open: new Set<Exchange>(),
    tick: { seconds: 0 },
  };
  const sessions = new Map<ServerHttp2Session, TlsConnection>();
  const connections = new WeakMap<TLSSocket, TlsConnection>();
  const sockets = new Set<TLSSocket>();
  let isClosing = false;

  const server = createServer({
    ...secureContextOf(certificate),
    requestCert: true,
    rejectUnauthorized: false,
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: limits.handshakeSeconds * 1000,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    maxHeaderSize: limits.headerBytes,
    connectionsCheckingInterval: 5000,
    headersTimeout: Math.min(limits.handshakeSeconds, limits.requestSeconds) * 1000,
    requestTimeout: limits.requestSeconds * 1000,
    keepAliveTimeout: limits.idleSeconds * 1000,
    insecureHTTPParser: false,
  });
  // Node drops headers over its count silently; a dropped one could be the one that matters. They are counted below.
  server.maxHeadersCount = 0;

  const http2Options: ServerOptions = {
    settings: {
      maxConcurrentStreams: limits.concurrentStreams,
      maxHeaderListSize: limits.headerBytes,
      enablePush: false,
    },
    maxHeaderListPairs: limits.headerCount,
    streamResetBurst: limits.resetBurst,
    streamResetRate: limits.resetsPerSecond,
    maxSessionMemory: 32,
    // The HTTP/2 library drops malformed fields in silence: those with blanks come through now, and the chain refuses them.
    strictFieldWhitespaceValidation: false,
  };

  const bound = new ConnectionBound(limits);
  const startTls = takeListener(server, "connection");
  const refused = occasionally<string | undefined>((address, count) =>
    log?.warn({ address, count }, "too many connections: new ones are closed"),
  );
  server.on("connection", (socket: Socket) => {
    if (bound.admits(socket)) return startTls(socket);
    refused(socket.remoteAddress);
    // Before the handshake, which would cost more than the connection.
    socket.destroy();
  });

  const serveHttp1 = takeListener(server, "secureConnection");
  server.on("secureConnection", (socket: TLSSocket) => {
    const connection = new TlsConnection(socket, context.tick.seconds);
    connections.set(socket, connection);
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    if (socket.alpnProtocol !== "h2") return serveHttp1(socket);
    const session = performServerHandshake(socket, http2Options);
    sessions.set(session, connection);
    session.on("error", () => session.destroy());
    session.on("close", () => sessions.delete(session));
    serveSession(session, connection, context);
  });
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket as TLSSocket);
    if (connection === undefined || isClosing) response.setHeader("connection", "close");
    if (
      connection === undefined ||
      request.rawHeaders.length > limits.headerCount * 2 ||
      !request.url?.startsWith("/")
    ) {
      response.writeHead(request.url?.startsWith("/") ? 431 : 400, { connection: "close" }).end();
      return;
    }
    new Http1Exchange({ request, response }, { context, connection }).run();
  });
  server.on("clientError", (error, socket) => refuseMalformed(error, socket, connections.get(socket as TLSSocket)));

  const notAccepted = occasionally<Error>((error, count) =>
    log?.error({ err: error, count }, "could not accept connections, will go on"),
  );

  const sweep = (): void => {
    const now = ++context.tick.seconds;
    for (const exchange of context.open) {
      if (now - exchange.startedAtSecond < limits.requestSeconds) break;
      if (!exchange.isStream) exchange.expire();
    }
    for (const [session, connection] of sessions) {
      if (connection.openExchanges > 0) continue;
      const idleSeconds = now - connection.activeAtSecond;
      if (idleSeconds >= limits.idleSeconds + closingSeconds) connection.destroy();
      else if (idleSeconds >= limits.idleSeconds) session.close();
    }
  };
  const sweeper = periodically({
    milliseconds: 1000,
    task: sweep,
    onFailure: (error) => log?.error({ err: error }, "could not end what is overdue, will retry"),
  });

  return {
    listen: ({ host, port, isPortShared = false }) =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen({ host, port, backlog: 1024, reusePort: isPortShared }, () => {
          server.off("error", reject);
          // No descriptor is left for a connection: the next may find one.
          server.on("error", notAccepted);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    setCertificate: (next) => server.setSecureContext(secureContextOf(next)),
    openStreams: () => [...context.open].filter(({ isStream }) => isStream).length,
    sweep,
    close: async ({ graceMilliseconds }) => {
      isClosing = true;
      sweeper.stop();
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      for (const session of sessions.keys()) session.close();
      server.closeIdleConnections();
      for (const exchange of context.open) if (exchange.isStream) exchange.end();
      const cut = setTimeout(() => {
        for (const session of sessions.keys()) session.destroy();
        for (const socket of sockets) socket.destroy();
      }, graceMilliseconds);
      await closed;
      clearTimeout(cut);
    },
  };
}

const secureContextOf = ({ cert, key }: ServingCertificate): SecureContextOptions => ({
  cert,
  key,
  minVersion: "TLSv1.2",
  // An empty list of authorities: Node would load its own roots otherwise.
  ca: [],
  // A resumed session could skip what a full handshake proves: the peer's chain is not in the ticket.
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
});

/**
 * Takes the runtime's own listener off an HTTPS server: that of connections, so that only those within the bound begin TLS;
 * HTTP/1.1's, so that the protocol that was negotiated decides who serves.
 */
function takeListener(server: EventEmitter, event: "connection" | "secureConnection"): (socket: Socket) => void {
  const [listener] = server.listeners(event);
  if (listener === undefined) throw new Error("this version of Node.js serves HTTPS in another way");
  server.removeAllListeners(event);
  return (socket) => {
    listener.call(server, socket);
  };
}
