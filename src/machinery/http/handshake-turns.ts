import type { Socket } from "node:net";
import { RoundRobinQueue } from "../scheduling/round-robin-queue.ts";
import { pathOfAddress } from "./connection-bound.ts";

/** The first half of a handshake takes a quarter of a millisecond: so many take about as long as a turn. */
const handshakesInTurn = 16;

/**
 * Begins the handshakes of new connections when their first bytes have come, a few in each turn of the event loop. Node.js would read those
 * of all connections in one turn, with a signature for each: hundreds of clients come back together after an outage. Addresses take turns.
 */
export class HandshakeTurns {
  readonly #waiting = new RoundRobinQueue<() => void>();
  readonly #secondsForFirstBytes: number;
  #begun = 0;

  constructor({ secondsForFirstBytes }: { readonly secondsForFirstBytes: number }) {
    this.#secondsForFirstBytes = secondsForFirstBytes;
  }

  /** Calls `begin`, after which others care for the socket, or ends the connection: it has closed, failed, or sent nothing in time. */
  add(socket: Socket, begin: () => void): void {
    const destroy = (): void => void socket.destroy();
    socket.on("error", destroy);
    socket.setTimeout(this.#secondsForFirstBytes * 1000, destroy);
    socket.once("readable", () => {
      socket.setTimeout(0, destroy);
      this.#waiting.add(pathOfAddress(socket.remoteAddress ?? ""), () => {
        if (socket.destroyed || socket.readableLength === 0) return destroy();
        socket.off("error", destroy);
        begin();
      });
      if (this.#begun === 0) setImmediate(this.#nextTurn);
      this.#beginWaiting();
    });
  }

  readonly #nextTurn = (): void => {
    this.#begun = 0;
    this.#beginWaiting();
    if (this.#begun > 0) setImmediate(this.#nextTurn);
  };

  #beginWaiting(): void {
    while (this.#begun < handshakesInTurn) {
      const next = this.#waiting.take();
      if (next === undefined) return;
      this.#begun++;
      next.item();
    }
  }
}
