import type { Socket } from "node:net";
import { requestTurnOfAddress } from "../scheduling/request-turn.ts";
import { addressKey } from "./connection-bound.ts";
import { isPausedByServer, keepWhilePaused } from "./node-http.ts";

/** How many may wait, of all connections. Each takes about two kilobytes, and costs its client some twenty bytes. */
const maximumWaiting = 10_000;
let waiting = 0;

/** Whether a connection that sends one more has to be closed: its requests are in memory as soon as they are parsed. */
export const areTooManyWaiting = (): boolean => waiting >= maximumWaiting;

/**
 * The requests of one HTTP/1.1 connection that come before the answers to earlier ones. Thousands come with one read, and Node.js
 * passes on all at once. They wait for turns, and the connection is not read meanwhile: so those of one read wait at most.
 */
export class PipelinedRequests {
  readonly #socket: Socket;
  readonly #address: string;
  #waiting = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#address = addressKey(socket.remoteAddress ?? "");
    keepWhilePaused(socket);
    // Node.js reads on when an answer has left, and for the rest of a body.
    socket.on("resume", () => {
      if (this.#waiting > 0) socket.pause();
    });
  }

  /** Resolves when the next request may begin. */
  async turn(): Promise<void> {
    this.#waiting++;
    waiting++;
    this.#socket.pause();
    await requestTurnOfAddress(this.#address);
    waiting--;
    if (--this.#waiting === 0 && !isPausedByServer(this.#socket)) this.#socket.resume();
  }
}
