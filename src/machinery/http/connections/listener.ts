import { once } from "node:events";
import { createServer } from "node:https";
import type { Server } from "node:https";
import type { AddressInfo, ListenOptions, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContext, TLSSocket } from "node:tls";
import { systemSchedule } from "../../api/clock.ts";
import type { Schedule } from "../../api/clock.ts";
import type { Handler } from "../../api/http-message.ts";
import { rateLimitedReport } from "../../logging/rate-limited-report.ts";
import { periodically } from "../../scheduling/periodically.ts";
import { connectionAccepted, mustWaitForTurn } from "../../scheduling/request-turn.ts";
import { Http2Session } from "../../http2/http2-session.ts";
import type { Http2Limits } from "../../http2/http2-session.ts";
import type { Http2Stream } from "../../http2/http2-stream.ts";
import type { RequestHead } from "../../http2/request-head.ts";
import { boundKeyUpdates } from "./bound-key-updates.ts";
import { ConnectionRoom } from "./connection-room.ts";
import type { ConnectionLimits, Loss } from "./connection-room.ts";
import { ConnectionShares } from "./connection-shares.ts";
import type { Exchange, ExchangeContext } from "./exchange.ts";
import { closeListener } from "./close-listener.ts";
import { endpointsOf } from "./endpoints-of.ts";
import { endFailedHandshakes } from "./failed-handshakes.ts";
import { HandshakeTurns } from "./handshake-turns.ts";
import { serveHttp1 } from "./http1/http1-requests.ts";
import type { Http1Parts } from "./http1/http1-requests.ts";
import { serveStream } from "./http2-exchange.ts";
import { pipelinedRequests } from "./http1/pipelined-requests.ts";
import { readInTurns } from "./read-in-turns.ts";
import { alpnProtocols, servingContextOptions } from "./serving-context.ts";
import type { ServingCertificate, TlsProtocol } from "./serving-context.ts";
import { takeListener } from "./take-listener.ts";
import { TlsConnection } from "./tls-connection.ts";
import { UnsentAnswers } from "./unsent-answers.ts";
import { WaitingRequests } from "./waiting-requests.ts";
import { wantsWebSocket } from "./http1/web-socket-handshake.ts";
import type { Log } from "../../logging/log.ts";

export interface ListenerLimits extends ConnectionLimits, Http2Limits {
  readonly bodyBytes: number;
  /** The limit from the first header to the last byte of the answer. Watches have no such limit. */
  readonly requestSeconds: number;
  /** The time for each of these: a connection's first bytes, its TLS handshake from then on, the header of an HTTP/1.1 request. */
  readonly handshakeSeconds: number;
  /** A connection without a request for this long is closed. */
  readonly idleSeconds: number;
  /**
   * The limit for the bytes of large answers and streams that clients have not read yet. Beyond it, the answers and streams end that were
   * not read for the longest time.
   */
  readonly unsentBytes: number;
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
  unsentBytes: 512 * 1024 * 1024,
  emptyFrameBurst: 1000,
  emptyFramesPerSecond: 100,
};

export interface ListenerTls {
  readonly protocol: TlsProtocol;
  /** The certificate for a server name that a client asks for (RFC 6066 3). Undefined: the listener's certificate. */
  readonly contextFor: ((serverName: string) => SecureContext | undefined) | undefined;
}

export interface ListenerOptions {
  readonly handler: Handler;
  readonly certificate: ServingCertificate;
  readonly tls: ListenerTls;
  readonly limits: Partial<ListenerLimits>;
  readonly log: Pick<Log, "warn" | "error">;
  /** The timers of a close. */
  readonly schedule?: Schedule;
}

/** After this side of a connection was closed, the client gets this long to close the other. */
const closingSeconds = 5;

/** A socket that a service manager has opened and passed on. */
interface PassedSocket {
  readonly fileDescriptor: number;
}

interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /**
   * Other processes of this user listen on the same port, and the kernel distributes connections among them
   * (SO_REUSEPORT).
   */
  readonly isPortShared?: boolean;
}

export interface Listener {
  /** Resolves with the actual port (0 chooses a free one). Rejects when it cannot be bound. */
  listen(address: ListenAddress | PassedSocket): Promise<number>;
  /** New connections use this certificate. Open connections keep theirs. */
  setCertificate(certificate: ServingCertificate): void;
  /**
   * Stops accepting connections, ends watches, waits for running requests up to the grace period, then closes the remaining connections.
   * Every request that a client can have sent is answered, or refused in a way that says that it was not processed.
   */
  close(options: { readonly graceMilliseconds: number }): Promise<void>;
  /** The number of open watches. */
  openStreams(): number;
  /** Ends everything that is overdue. The listener itself calls this every second. */
  sweep(): void;
}

/** The state of a listener, which the functions below share. */
interface ListenerParts extends Http1Parts {
  readonly limits: ListenerLimits;
  readonly log: Pick<Log, "warn" | "error">;
  /** The connections of HTTP/2. */
  readonly sessions: Map<Http2Session, TlsConnection>;
  readonly connections: Map<Duplex, TlsConnection>;
  /** The connections whose handshake is done, by their ends. */
  readonly served: Map<string, TlsConnection>;
  readonly handshakes: HandshakeTurns;
  readonly shares: ConnectionShares;
  /** All open sockets, also those whose handshake is not done: closing the listener ends them too. */
  readonly room: ConnectionRoom;
}

/**
 * HTTPS with HTTP/2 and HTTP/1.1 on one port. It requests client certificates but does not
 * verify them: the authenticators do that for every connection. Sessions are never resumed.
 */
export function createListener({
  handler,
  certificate,
  tls,
  limits: changes,
  log,
  schedule = systemSchedule,
}: ListenerOptions): Listener {
  const limits = { ...defaultLimits, ...changes };
  const context = exchangeContext({ handler, limits, log });
  const tooManyWait = rateLimitedReport<string>((address, count) =>
    log.warn({ address, count }, "too many requests wait for their turns: more are not taken"),
  );
  const server = createHttpsServer(certificate, { tls, limits });
  const served = new Map<string, TlsConnection>();
  const handshakes = new HandshakeTurns({ secondsForFirstBytes: limits.handshakeSeconds });
  const parts: ListenerParts = {
    server,
    context,
    limits,
    log,
    sessions: new Map(),
    refused: new Map(),
    connections: new Map(),
    served,
    handshakes,
    shares: new ConnectionShares(limits),
    room: roomForConnections({ limits, log, served, handshakes }),
    tooManyWait: ({ remoteAddress }) => tooManyWait(remoteAddress),
  };
  boundConnections(parts);
  boundKeyUpdates(server, log);
  serveBothProtocols(parts);
  serveHttp1(parts);
  const sweeper = periodically({
    milliseconds: 1000,
    task: () => sweep(parts),
    onFailure: (error) => log.error({ err: error }, "could not end what is overdue, will retry"),
  });
  const notAccepted = rateLimitedReport<Error>((error, count) =>
    log.error({ err: error, count }, "could not accept connections, will continue"),
  );
  return {
    async listen(address) {
      server.listen(listenOptions(address));
      await once(server, "listening");
      // No file descriptor is left for a connection. The next connection may get one.
      server.on("error", notAccepted);
      return (server.address() as AddressInfo).port; // it listens on TCP
    },
    setCertificate: (next) => server.setSecureContext(servingContextOptions(next, tls.protocol)),
    openStreams: () => [...context.open].filter(({ isStream }) => isStream).length,
    sweep: () => sweep(parts),
    async close(options) {
      await closeListener({ ...parts, sockets: parts.room.sockets, schedule }, options);
      sweeper.stop();
    },
  };
}

function exchangeContext({
  handler,
  limits: { bodyBytes, unsentBytes: maximumBytes },
  log,
}: Pick<ListenerOptions, "handler" | "log"> & Pick<ListenerParts, "limits">): ExchangeContext {
  const notRead = rateLimitedReport<number>((maximumBytes, count) =>
    log.warn(
      { maximumBytes, count },
      "clients did not read large answers or watches, which were ended to free the memory",
    ),
  );
  return {
    handler,
    maximumBodyBytes: bodyBytes,
    open: new Set<Exchange>(),
    unsent: new UnsentAnswers({ maximumBytes, onEnded: () => notRead(maximumBytes) }),
    tick: { seconds: 0 },
    isClosing: false,
  };
}

function createHttpsServer(
  certificate: ServingCertificate,
  { tls: { protocol, contextFor }, limits }: { readonly tls: ListenerTls; readonly limits: ListenerLimits },
): Server {
  const server = createServer({
    ...servingContextOptions(certificate, protocol),
    // Only when it is needed: with a callback, Node.js stops every handshake to ask it.
    ...(contextFor !== undefined && {
      SNICallback: (serverName: string, answer: (error: null, context?: SecureContext) => void) =>
        answer(null, contextFor(serverName)),
    }),
    requestCert: true,
    rejectUnauthorized: false,
    ALPNProtocols: alpnProtocols,
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
    shouldUpgradeCallback: wantsWebSocket,
  });
  // Node.js silently drops headers beyond this count, and a dropped header could be important. `accept` counts them
  // instead.
  server.maxHeadersCount = 0;
  return server;
}

/**
 * How much a client loses when its connection ends. An idle client loses little, because it can connect again. A busy client loses its
 * answers. Only a busy client without a name, or of a user with more than its share, may be ended, because such clients could hold all
 * places. A handshake under way counts like these: otherwise a client that opens connections fast could end every handshake.
 */
function lossOf(socket: Socket, { served, handshakes }: Pick<ListenerParts, "served" | "handshakes">): Loss {
  const connection = served.get(endpointsOf(socket));
  if (connection === undefined) return handshakes.hasBegun(socket) ? "much" : "nothing";
  if (!connection.isBusy) return connection.isInShare ? "little" : "nothing";
  return connection.isInShare ? "everything" : "much";
}

function roomForConnections({
  limits,
  log,
  ...parts
}: Pick<ListenerParts, "limits" | "log" | "served" | "handshakes">): ConnectionRoom {
  const ended = rateLimitedReport<string | undefined>((address, count) =>
    log.warn(
      { address, count },
      "too many connections: idle ones, those of clients without a name, and those of who has most are closed for new ones",
    ),
  );
  return new ConnectionRoom({
    limits,
    lossOf: (socket) => lossOf(socket, parts),
    onEnded: ({ remoteAddress }) => ended(remoteAddress),
  });
}

/** Lets only connections that have room begin their handshake. */
function boundConnections({ server, room, log, handshakes }: ListenerParts): void {
  const refused = rateLimitedReport<string | undefined>((address, count) =>
    log.warn({ address, count }, "too many connections: new ones are closed"),
  );
  const startTls = takeListener(server, "connection");
  server.on("connection", (socket: Socket) => {
    connectionAccepted();
    if (room.admit(socket)) return handshakes.add(socket, () => startTls(socket));
    refused(socket.remoteAddress);
    // Close it before the handshake, which would cost more than the connection.
    socket.destroy();
  });
}

/** Serves connections after their handshake: HTTP/2 itself, and all others through Node.js, which parses HTTP/1.1. */
function serveBothProtocols(parts: ListenerParts): void {
  const { server, context, limits, sessions, connections, served, handshakes, shares, tooManyWait } = parts;
  const nowSeconds = (): number => context.tick.seconds;
  const parseHttp1 = takeListener(server, "secureConnection");
  server.on("secureConnection", (socket: TLSSocket) => {
    handshakes.hasEnded(socket);
    const connection = new TlsConnection(socket, { nowSecond: context.tick.seconds, shares });
    const { endpoints } = connection;
    connections.set(socket, connection);
    served.set(endpoints, connection);
    socket.on("close", () => {
      connections.delete(socket);
      if (served.get(endpoints) === connection) served.delete(endpoints);
    });
    socket.on("error", () => socket.destroy());
    if (socket.alpnProtocol !== "h2") {
      parseHttp1(socket);
      const parse = takeListener(socket, "data");
      return readInTurns(socket, { waiting: () => pipelinedRequests(connection, socket), read: parse });
    }
    const waitingRequests = (): WaitingRequests => (connection.waiting ??= new WaitingRequests(socket));
    const onRequest = (stream: Http2Stream, head: RequestHead): void => {
      // One read may bring hundreds of requests, and one turn of the event loop reads many connections.
      const waiting = mustWaitForTurn() ? waitingRequests() : undefined;
      if (waiting?.hasRoom === false) {
        tooManyWait(connection);
        return stream.refuse();
      }
      serveStream(stream, { head, context, connection, turn: waiting?.turn() });
    };
    const session = new Http2Session({ socket, limits, nowSeconds, onRequest });
    readInTurns(socket, { waiting: waitingRequests, read: (bytes) => session.read(bytes) });
    sessions.set(session, connection);
    socket.on("close", () => sessions.delete(session));
    // The handshake was under way when the listener began to close: the requests are refused as not processed.
    if (context.isClosing) session.close();
  });
  endFailedHandshakes(server);
}

/** Ends requests, unread answers and idle connections whose time is over. */
function sweep({ context, limits, sessions, refused }: ListenerParts): void {
  const now = ++context.tick.seconds;
  for (const exchange of context.open) {
    if (now - exchange.startedAtSecond < limits.requestSeconds) break;
    if (exchange.hasDeadline) exchange.expire();
  }
  context.unsent.endUnread(context.open, now);
  for (const [socket, refusedAtSecond] of refused) if (now - refusedAtSecond >= closingSeconds) socket.destroy();
  for (const [session, connection] of sessions) {
    session.sweep();
    if (connection.openExchanges > 0) continue;
    const idleSeconds = now - connection.activeAtSecond;
    if (idleSeconds >= limits.idleSeconds + closingSeconds) connection.destroy();
    else if (idleSeconds >= limits.idleSeconds) session.close();
  }
}

const listenOptions = (address: ListenAddress | PassedSocket): ListenOptions | { readonly fd: number } =>
  "fileDescriptor" in address
    ? { fd: address.fileDescriptor }
    : { host: address.host, port: address.port, backlog: 1024, reusePort: address.isPortShared === true };
