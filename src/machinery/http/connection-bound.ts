import type { Socket } from "node:net";
import { unmappedAddress } from "../api/unmapped-address.ts";
import { addressPath } from "../scheduling/share-path.ts";
import type { SharePath } from "../scheduling/share-path.ts";

export interface ConnectionLimits {
  /** The maximum number of simultaneous connections from all clients. */
  readonly connections: number;
  /** The maximum per client address. An IPv6 address counts as its /64, because one client usually has a whole /64. */
  readonly connectionsPerAddress: number;
}

/** Counts open connections, including those that never complete their TLS handshake. */
export class ConnectionBound {
  readonly #limits: ConnectionLimits;
  readonly #makeRoom: () => boolean;
  readonly #countByAddress = new Map<string, number>();
  #count = 0;

  /** `makeRoom` is called when there are too many in all: it ends another connection, and returns whether it has. Default: it ends none. */
  constructor(limits: ConnectionLimits, makeRoom = (): boolean => false) {
    this.#limits = limits;
    this.#makeRoom = makeRoom;
  }

  /** Counts a connection until it is closed. Returns false, without counting it, when it exceeds a limit. */
  admits(socket: Socket): boolean {
    const address = addressKey(socket.remoteAddress ?? "");
    const ofAddress = this.#countByAddress.get(address) ?? 0;
    if (ofAddress >= this.#limits.connectionsPerAddress) return false;
    if (this.#count >= this.#limits.connections && !this.#makeRoom()) return false;
    this.#count++;
    this.#countByAddress.set(address, ofAddress + 1);
    socket.once("close", () => this.#closed(address));
    return true;
  }

  #closed(address: string): void {
    this.#count--;
    const left = (this.#countByAddress.get(address) ?? 1) - 1;
    if (left === 0) this.#countByAddress.delete(address);
    else this.#countByAddress.set(address, left);
  }
}

/** For whom what comes from an address counts, when it is not known yet whose it is. */
export const pathOfAddress = (address: string): SharePath => addressPath(addressKey(address));

/** An address in the system's notation, or the /64 of an IPv6 address. */
export function addressKey(reported: string): string {
  const address = unmappedAddress(reported);
  if (!address.includes(":")) return address;
  const [head = "", tail = ""] = (address.split("%", 1)[0] ?? "").split("::");
  const groupsOf = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const [before, after] = [groupsOf(head), groupsOf(tail)];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after].slice(0, 4).join(":");
}
