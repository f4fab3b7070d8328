import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { endWhileParsing } from "./node-http.ts";

/**
 * Bounds what the clients of one listener get without reading: one connection can send a thousand requests at once, and all their answers
 * would be in memory. For listeners that answer all requests alike, whose clients have no reason to send more without waiting.
 */
export class PipeliningBound {
  /** The connections that have sent a request before the answer to the one before it has left. */
  readonly #sockets = new WeakSet<Socket>();

  /** Whether to answer a request. Otherwise, its connection has ended. */
  mayAnswer({ socket }: IncomingMessage, response: ServerResponse): boolean {
    if (response.socket !== null) return true;
    // One more is no haste: a client may have read an answer before this side knows that it has left.
    if (this.#sockets.has(socket)) {
      endWhileParsing(socket);
      return false;
    }
    this.#sockets.add(socket);
    response.once("socket", () => this.#sockets.delete(socket));
    return true;
  }
}
