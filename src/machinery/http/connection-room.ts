import type { Socket } from "node:net";

/**
 * Room for the connections of clients that ask and leave. Where it is full, each new connection ends the oldest: who holds connections
 * open, from however many addresses, keeps nobody else out.
 */
export class ConnectionRoom {
  readonly #maximum: number;
  /** In the order in which they came. */
  readonly #sockets = new Set<Socket>();

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  add(socket: Socket): void {
    const [oldest] = this.#sockets;
    if (oldest !== undefined && this.#sockets.size >= this.#maximum) {
      // It closes later, and more may come before.
      this.#sockets.delete(oldest);
      oldest.destroy();
    }
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  /** Ends all of them. */
  clear(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
