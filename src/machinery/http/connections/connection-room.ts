import type { Socket } from "node:net";
import { addressKey } from "./client-address.ts";

export interface ConnectionLimits {
  /** The maximum number of simultaneous connections from all clients. */
  readonly connections: number;
  /** The maximum per client address. An IPv6 address counts as its /64, because one client usually has a whole /64. */
  readonly connectionsPerAddress: number;
}

/** How much a client loses when its connection is ended for another. `everything`: it is not ended. */
export type Loss = "nothing" | "little" | "much" | "everything";

/** Least first. */
const bearableLosses: readonly Loss[] = ["nothing", "little", "much"];

interface ConnectionRoomOptions {
  readonly limits: ConnectionLimits;
  /** Default: nothing, so that the oldest connection ends. */
  readonly lossOf?: (socket: Socket) => Loss;
  /** Called with each new connection that took the place of an ended one. */
  readonly onEnded?: (taken: Socket) => void;
}

/** How many connections are looked at in order to end one for a new one. Those after them are looked at for the next. */
const looksForRoom = 100;

/**
 * Room for open connections, also for those that never complete their TLS handshake. Where it is full, in all or for one address, a new
 * connection ends the oldest of those whose clients lose least: who holds connections open, from however many addresses, keeps nobody else
 * out.
 */
export class ConnectionRoom {
  readonly #options: ConnectionRoomOptions;
  readonly #sockets = new Set<Socket>();
  readonly #byAddress = new Map<string, Set<Socket>>();

  constructor(options: ConnectionRoomOptions) {
    this.#options = options;
  }

  /** All that are in it. */
  get sockets(): ReadonlySet<Socket> {
    return this.#sockets;
  }

  /** Keeps a place for a connection until it is closed. Returns false, and keeps none, when none can be made. */
  takes(socket: Socket): boolean {
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

  /** Ends one of these connections. Returns whether it has. */
  #endOne(sockets: Set<Socket>): boolean {
    const found = new Map<Loss, Socket>();
    let looks = 0;
    for (const socket of sockets) {
      if (looks++ === looksForRoom) break;
      const loss = this.#options.lossOf?.(socket) ?? "nothing";
      if (!found.has(loss)) found.set(loss, socket);
      if (loss === "nothing") break;
      // Behind the others.
      sockets.delete(socket);
      sockets.add(socket);
    }
    const [ended] = bearableLosses.flatMap((loss) => found.get(loss) ?? []);
    if (ended === undefined) return false;
    // It closes later, and more may come before.
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

  /** Ends all of them. */
  clear(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** As it was when the connection was new: Node.js keeps it. */
const addressOf = (socket: Socket): string => addressKey(socket.remoteAddress ?? "");
