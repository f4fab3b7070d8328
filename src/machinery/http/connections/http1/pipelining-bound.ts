import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { endWhileParsing } from "./node-http.ts";

/**
 * Limits the unread answers of the clients of one listener: a connection can send a thousand requests at once, whose answers would all be
 * in memory. For listeners that treat all requests alike, whose clients have no reason to send a request before the last answer.
 */
export class PipeliningBound {
  /** The connections that have sent a request before the answer to their previous request was sent. */
  readonly #sockets = new WeakSet<Socket>();

  /** Whether to answer a request. Otherwise, its connection has ended. */
  mayAnswer({ socket }: IncomingMessage, response: ServerResponse): boolean {
    if (response.socket !== null) return true;
    // One early request is allowed: a client may have read an answer before Node.js knows that it was sent.
    if (this.#sockets.has(socket)) {
      endWhileParsing(socket);
      return false;
    }
    this.#sockets.add(socket);
    response.once("socket", () => this.#sockets.delete(socket));
    return true;
  }
}
