import type { Socket } from "node:net";
import { addressKey } from "../../api/addresses/address-key.ts";

export interface ConnectionLimits {
  /** The maximum number of simultaneous connections from all clients. */
  readonly connections: number;
  /** The maximum per client address. An IPv6 address counts as its /64, because one client usually has a whole /64. */
  readonly connectionsPerAddress: number;
}

/** How much a client loses when its connection is ended to make room for a new one. `everything`: the connection is never ended. */
export type Loss = "nothing" | "little" | "much" | "everything";

/** In ascending order. */
const bearableLosses: readonly Loss[] = ["nothing", "little", "much"];

interface ConnectionRoomOptions {
  readonly limits: ConnectionLimits;
  /** Default: nothing, so that the oldest connection ends. */
  readonly lossOf?: (socket: Socket) => Loss;
  /** Called with each new connection that took the place of an ended one. */
  readonly onEnded?: (taken: Socket) => void;
}

/** How many connections are examined to choose the one that ends. The choice for the next new connection continues after them. */
const maximumExamined = 100;

/**
 * Limits the open connections, also those that never complete their TLS handshake. At the limit for all or for one address, a new
 * connection ends the oldest of the connections whose clients lose least. So a client that holds connections open, from any number of
 * addresses, cannot keep others out.
 */
export class ConnectionRoom {
  readonly #options: ConnectionRoomOptions;
  readonly #sockets = new Set<Socket>();
  readonly #byAddress = new Map<string, Set<Socket>>();

  constructor(options: ConnectionRoomOptions) {
    this.#options = options;
  }

  /** All connections that have a place. */
  get sockets(): ReadonlySet<Socket> {
    return this.#sockets;
  }

  /** Keeps a place for a connection until it is closed. Returns false when no place is free and none can be freed. */
  admit(socket: Socket): boolean {
    const { limits, onEnded } = this.#options;
    const address = addressOf(socket);
    const ofAddress = this.#byAddress.get(address) ?? new Set();
    const full = [
      ofAddress.size >= limits.connectionsPerAddress ? ofAddress : undefined,
      this.#sockets.size >= limits.connections ? this.#sockets : undefined,
    ].find((sockets) => sockets !== undefined);
    if (full !== undefined) {
      if (!this.#endOne(full)) return false;
      onEnded?.(socket);
    }
    this.#sockets.add(socket);
    this.#byAddress.set(address, ofAddress.add(socket));
    socket.once("close", () => this.#remove(socket));
    return true;
  }

  /** Ends one of these connections. Returns false when none may be ended. */
  #endOne(sockets: Set<Socket>): boolean {
    const found = new Map<Loss, Socket>();
    let examined = 0;
    for (const socket of sockets) {
      if (examined++ === maximumExamined) break;
      const loss = this.#options.lossOf?.(socket) ?? "nothing";
      if (!found.has(loss)) found.set(loss, socket);
      if (loss === "nothing") break;
      // Moves the socket behind the others.
      sockets.delete(socket);
      sockets.add(socket);
    }
    const [ended] = bearableLosses.flatMap((loss) => found.get(loss) ?? []);
    if (ended === undefined) return false;
    // Its close event comes later, and more connections may come before that.
    this.#remove(ended);
    ended.destroy();
    return true;
  }

  #remove(socket: Socket): void {
    const address = addressOf(socket);
    const ofAddress = this.#byAddress.get(address);
    this.#sockets.delete(socket);
    ofAddress?.delete(socket);
    if (ofAddress?.size === 0) this.#byAddress.delete(address);
  }

  /** Ends all connections. */
  clear(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** The key of the client's address. Node.js keeps the address that the connection had at its beginning. */
const addressOf = (socket: Socket): string => addressKey(socket.remoteAddress ?? "");
