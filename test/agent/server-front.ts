import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";

/**
 * A front address of the server that can be reachable, unreachable, or silent. Passes bytes unchanged, so TLS is with the server itself.
 */
export class ServerFront {
  /** The server's URL now. */
  readonly #target: () => string;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #isSilent = false;
  port = 0;
  connections = 0;

  constructor(target: () => string) {
    this.#target = target;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  async open(): Promise<void> {
    this.#server = createServer((socket) => {
      this.connections++;
      this.#keep(socket);
      if (this.#isSilent) return;
      const upstream = connect(Number(new URL(this.#target()).port), "127.0.0.1");
      this.#keep(upstream);
      for (const [one, other] of [[socket, upstream] as const, [upstream, socket] as const]) {
        one.on("close", () => other.destroy());
      }
      socket.pipe(upstream).pipe(socket);
    });
    this.#server.listen(this.port, "127.0.0.1");
    await once(this.#server, "listening");
    this.port = (this.#server.address() as AddressInfo).port; // listens on a port
  }

  /** Connections stay open and new ones are accepted, but no byte is passed on any more. */
  fallSilent(): void {
    this.#isSilent = true;
    for (const socket of this.#sockets) socket.unpipe().resume();
  }

  /** New connections reach the server again. Silent connections stay silent. */
  speak(): void {
    this.#isSilent = false;
  }

  /** Every open connection ends; the address stays as it is. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server?.close(resolve) ?? resolve(undefined));
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {}).on("close", () => this.#sockets.delete(socket));
  }
}
