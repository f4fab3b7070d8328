import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { mustWaitForTurn, requestTurnOfAddress } from "../../../scheduling/request-turn.ts";
import { pathOfConnection } from "../path-of-connection.ts";
import type { ExchangeContext } from "../exchange.ts";
import { Http1Exchange, refuseMalformed } from "./http1-exchange.ts";
import type { Http1Request } from "./http1-exchange.ts";
import { http1Head } from "./http1-head.ts";
import type { Http1Head } from "./http1-head.ts";
import { afterAnswers, endWhileParsing, lastResponse } from "./node-http.ts";
import { pipelinedRequests } from "./pipelined-requests.ts";
import type { TlsConnection } from "../tls-connection.ts";
import type { UpgradeRequest } from "./web-socket-exchange.ts";
import type { Log } from "../../../logging/log.ts";

export interface Http1Parts {
  readonly server: Server;
  readonly context: ExchangeContext;
  /** How many headers a request may have. */
  readonly limits: { readonly headerCount: number };
  readonly log: Pick<Log, "error">;
  /** Each connection whose handshake is done, by its socket. */
  readonly connections: ReadonlyMap<Duplex, TlsConnection>;
  /** The connections that the server has ended because of a malformed or a missing request, each with the second of its end. */
  readonly refused: Map<Duplex, number>;
  /** Reports a request that is not taken, because too many wait. */
  readonly tooManyWait: (connection: TlsConnection) => void;
}

/** Serves the requests that Node.js has parsed. */
export function serveHttp1(parts: Http1Parts): void {
  const { server, context, connections, refused, tooManyWait } = parts;
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const accepted = accept({ request, response }, parts);
    if (accepted === undefined) return;
    const { head, connection } = accepted;
    const isBehindAnother = connection.openExchanges > 0;
    const isWaiting = isBehindAnother || mustWaitForTurn();
    const waiting = isWaiting ? pipelinedRequests(connection, request.socket) : undefined;
    // Each connection may always have one waiting request.
    if (isBehindAnother && waiting?.hasRoom === false) {
      tooManyWait(connection);
      return endWhileParsing(request.socket);
    }
    new Http1Exchange({ head, request, response }, { context, connection }).run(waiting?.turn());
  });
  // oxlint-disable-next-line max-params -- what Node.js gives
  server.on("upgrade", (request: IncomingMessage, socket: Socket, sentAhead: Buffer) =>
    // A client may have read the whole answer before Node.js knows that it was sent.
    afterAnswers(socket, () => serveWebSocket({ request, socket, sentAhead }, parts)),
  );
  // CONNECT asks for a tunnel, and has no path. HTTP/2 gives the same answer.
  server.on("connect", (request: IncomingMessage, socket: Socket) => {
    afterAnswers(socket, () => lastResponse(request, socket).writeHead(400, { connection: "close" }).end());
    // Reads and drops the rest, so that the end of the connection is noticed: an earlier answer may be a watch.
    socket.resume();
  });
  server.on("clientError", (error, socket) => {
    // The client continues to send. A reset now could discard the answer before the client has read it.
    if (refused.has(socket)) return;
    refuseMalformed(error, { socket, connection: connections.get(socket) });
    if (socket.writableEnded) noteRefused(socket, parts);
  });
}

interface AcceptedRequest {
  readonly connection: TlsConnection;
  readonly head: Http1Head;
}

/** The head and the connection of a request that may be served. Undefined: the request was refused here. */
function accept(
  { request, response }: Pick<Http1Request, "request" | "response">,
  parts: Http1Parts,
): AcceptedRequest | undefined {
  const { limits, connections } = parts;
  const connection = connections.get(request.socket);
  // Node.js also parses requests that say 0.9 (or no version) and 2.0.
  const isVersion = request.httpVersionMajor === 1;
  const isSmall = request.rawHeaders.length <= limits.headerCount * 2;
  const head = isVersion && isSmall ? http1Head(request, "https") : undefined;
  if (connection !== undefined && head !== undefined) return { connection, head };
  response.writeHead(!isVersion ? 505 : isSmall ? 400 : 431, { connection: "close" }).end();
  // The parser's faults in the rest get no second answer.
  if (connection?.openExchanges === 0) noteRefused(request.socket, parts);
  return undefined;
}

function noteRefused(socket: Duplex, { refused, context }: Http1Parts): void {
  // Node.js reports a client that leaves in the handshake while the socket closes: no close event would remove it.
  if (socket.destroyed) return;
  refused.set(socket, context.tick.seconds);
  socket.once("close", () => refused.delete(socket));
}

/** Serves a request that asks to speak WebSocket, whose connection Node.js has handed over. */
function serveWebSocket(
  { request, socket, sentAhead }: Pick<UpgradeRequest, "request" | "socket" | "sentAhead">,
  parts: Http1Parts,
): void {
  const { context, log } = parts;
  const response = lastResponse(request, socket);
  const accepted = accept({ request, response }, parts);
  if (accepted === undefined) return;
  const { head, connection } = accepted;
  // Loaded with the first such request: most servers never get one.
  import("./web-socket-exchange.ts").then(
    ({ WebSocketExchange }) => {
      const exchange = new WebSocketExchange({ head, request, response, socket, sentAhead }, { context, connection });
      // Each connection has at most one of these requests, so there is always room.
      exchange.run(mustWaitForTurn() ? requestTurnOfAddress(pathOfConnection(request.socket)) : undefined);
    },
    (error: unknown) => {
      log.error({ err: error }, "could not load what speaks WebSocket");
      socket.destroy();
    },
  );
}
