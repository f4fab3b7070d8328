import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { HttpResponse } from "../../../api/http-message.ts";
import { isWholeBody } from "../../../api/is-whole-body.ts";
import { plainText } from "../../plain-text.ts";

/**
 * The module `node:http`. An `import` of it reads each of its members, and one of these loads the WebSocket client of
 * Node.js with all that belongs to it: 900 KB of source that Signet does not use.
 */
const http = process.getBuiltinModule("node:http");

export const { createServer, request } = http;

/** Ends all connections, also those with a request. Resolves when the server has closed. */
export const closeServer = (server: Pick<Server, "close" | "closeAllConnections">): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/** Sends a complete answer. Ends the connection if the request's body has not come completely: the body may be endless. */
export function sendAnswer(response: ServerResponse, { status, headers, body }: HttpResponse): void {
  if (!isWholeBody(body)) return sendAnswer(response, plainText(500, "500 internal server error\n"));
  response.writeHead(status, {
    ...headers,
    ...(status !== 304 && { "content-length": Buffer.byteLength(body) }),
    ...(!response.req.complete && { connection: "close" }),
  });
  response.end(body);
}

/** The response to a request whose connection Node.js has handed over (an upgrade or a tunnel). The connection ends after it. */
export function lastResponse(request: IncomingMessage, socket: Socket): ServerResponse {
  const response = new http.ServerResponse(request);
  response.assignSocket(socket);
  response.on("finish", () => socket.destroySoon());
  return response;
}

/** The answer that has this connection now. Node.js tells it only in a property without a type. */
const answerOn = (socket: Socket): ServerResponse | undefined =>
  "_httpMessage" in socket && socket._httpMessage instanceof http.ServerResponse ? socket._httpMessage : undefined;

/** Whether a request came on a connection while an earlier one was not answered. */
export const isBehindUnanswered = ({ socket }: IncomingMessage): boolean => answerOn(socket)?.writableEnded === false;

/**
 * Keeps the next bytes of a connection that Node.js has handed over for its next reader. Calls `next` when the earlier answers are sent,
 * which is often at once, and never when the connection ends before.
 */
export function afterAnswers(socket: Socket, next: () => void): void {
  socket.removeAllListeners("data");
  // Node.js no longer passes `drain` on to the answers.
  socket.on("drain", () => answerOn(socket)?.emit("drain"));
  const goOn = (): void => {
    const answer = answerOn(socket);
    if (answer === undefined) next();
    else answer.once("finish", goOn);
  };
  goOn();
}

/**
 * Ends a connection while Node.js passes on one of its requests. Node.js continues to parse the bytes of the same read, and would keep
 * hundreds of requests, each with its response, until the event loop closes the socket.
 */
export function endWhileParsing(socket: Socket): void {
  const parser = "parser" in socket ? socket.parser : undefined;
  if (typeof parser === "object" && parser !== null && "onIncoming" in parser) parser.onIncoming = () => 0;
  socket.destroy();
}

/** Whether Node.js has paused a connection until its client has read answers. Its parser fails on bytes that come meanwhile. */
export const isPausedByServer = (socket: Socket): boolean => "_paused" in socket && socket._paused === true;

/**
 * Passes on the parts of a request's body as Node.js parses them, and null at its end. The request itself, which is a stream, would keep an
 * object for each part until the part is read.
 */
export function takeBody(request: IncomingMessage, take: (part: Buffer | null) => void): void {
  const { push } = request;
  request.push = (part: Buffer | null) => {
    take(part);
    return part !== null || push.call(request, null);
  };
}
