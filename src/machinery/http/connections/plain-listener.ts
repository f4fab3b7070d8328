import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Headers, HttpResponse } from "../../api/http-message.ts";
import { urlHost } from "../../api/addresses/url-host.ts";
import { connectionAccepted, mustWaitForTurn } from "../../scheduling/request-turn.ts";
import { ConnectionRoom } from "./connection-room.ts";
import type { ConnectionLimits } from "./connection-room.ts";
import { http1Head } from "./http1/http1-head.ts";
import { PipeliningBound } from "./http1/pipelining-bound.ts";
import { closeServer, createServer, sendAnswer } from "./http1/node-http.ts";
import { pipelinedRequests } from "./http1/pipelined-requests.ts";
import type { WaitingConnection } from "./http1/pipelined-requests.ts";
import { plainText } from "../plain-text.ts";
import { readInTurns } from "./read-in-turns.ts";
import { takeListener } from "./take-listener.ts";
import type { Log } from "../../logging/log.ts";

export interface PlainRequest {
  readonly method: string;
  /** The path as the client sent it, without the query. */
  readonly path: string;
  readonly headers: Headers;
  /** Resolves with the body, cut after `longestBytes` + 1 bytes. May be called once. Rejects when the client breaks the body off. */
  readBody(longestBytes: number): Promise<Buffer>;
}

export interface PlainListenerOptions {
  readonly host: string;
  readonly port: number;
  /** Whether other processes of this server listen on the same port. */
  readonly isPortShared: boolean;
  readonly answer: (request: PlainRequest) => Promise<HttpResponse>;
  readonly log: Pick<Log, "info" | "error">;
}

export interface PlainListener {
  readonly url: string;
  close(): Promise<void>;
}

/** When so many connections are open, each new one ends the oldest. */
const limits: ConnectionLimits = { connections: 2000, connectionsPerAddress: 100 };

/** Serves public answers over plain HTTP, with bounds on bytes, connections and time. Rejects when the address cannot be bound. */
export async function startPlainListener(options: PlainListenerOptions): Promise<PlainListener> {
  const { host, port, isPortShared, answer, log } = options;
  const server = createServer({
    maxHeaderSize: 16 * 1024,
    headersTimeout: 10_000,
    requestTimeout: 20_000,
    keepAliveTimeout: 15_000,
    connectionsCheckingInterval: 5000,
    noDelay: true,
  });
  // For clients that read slowly, or not at all.
  server.timeout = 60_000;
  server.maxRequestsPerSocket = 1000;
  const room = new ConnectionRoom({ limits });
  const pipelining = new PipeliningBound();
  const connections = new WeakMap<Socket, WaitingConnection>();
  server.on("connection", (socket) => {
    connectionAccepted();
    room.admit(socket);
    const connection: WaitingConnection = { waiting: undefined };
    connections.set(socket, connection);
    const parse = takeListener(socket, "data");
    return readInTurns(socket, { waiting: () => pipelinedRequests(connection, socket), read: parse });
  });
  server.on("request", (request, response) => {
    if (!pipelining.mayAnswer(request, response)) return;
    const { socket } = request;
    const connection = connections.get(socket);
    const waiting = connection !== undefined && mustWaitForTurn() ? pipelinedRequests(connection, socket) : undefined;
    respond({ request, response, turn: waiting?.turn() }, answer).catch((error: unknown) => {
      // A client that breaks its body off is no fault of the server, and strangers could fill the log.
      if (error !== request.errored) log.error({ err: error }, "could not answer over plain HTTP");
      response.destroy();
    });
  });
  server.listen({ host, port, backlog: 512, reusePort: isPortShared });
  await once(server, "listening");
  server.on("error", (error) => log.error({ err: error }, "could not accept connections, will continue"));
  const url = `http://${urlHost(host)}:${(server.address() as AddressInfo).port}`;
  return { url, close: () => closeServer(server) };
}

interface WaitingExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly turn: Promise<void> | undefined;
}

async function respond(
  { request, response, turn }: WaitingExchange,
  answer: PlainListenerOptions["answer"],
): Promise<void> {
  if (turn !== undefined) await turn;
  if (response.destroyed) return;
  const head = http1Head(request, "http");
  if (head === undefined) return sendAnswer(response, plainText(400, "400 bad request\n"));
  const { method, target, headers } = head;
  const [path = ""] = target.split("?", 1);
  const answered = await answer({
    method,
    path,
    headers,
    readBody: (longestBytes) => boundedBody(request, longestBytes),
  });
  sendAnswer(response, answered);
}

async function boundedBody(request: IncomingMessage, longestBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    // without an encoding, chunks are bytes
    chunks.push(chunk);
    size += chunk.length;
    if (size > longestBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, longestBytes + 1);
}
