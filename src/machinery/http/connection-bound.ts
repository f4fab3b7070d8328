import type { Socket } from "node:net";

export interface ConnectionLimits {
  /** Connections at the same time, whoever they are of. */
  readonly connections: number;
  /** Of one client address; an IPv6 address stands for its /64, which one client has as a whole. */
  readonly connectionsPerAddress: number;
}

/** Counts connections from their first byte to their last: also those that never end their TLS handshake. */
export class ConnectionBound {
  readonly #limits: ConnectionLimits;
  readonly #countByAddress = new Map<string, number>();
  #count = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Counts a connection until it is closed. False when it is one too many: then it is not counted. */
  admits(socket: Socket): boolean {
    const address = addressKey(socket.remoteAddress ?? "");
    const ofAddress = this.#countByAddress.get(address) ?? 0;
    if (this.#count >= this.#limits.connections || ofAddress >= this.#limits.connectionsPerAddress) return false;
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

/** An address as the system writes it, or the /64 of an IPv6 one. */
export function addressKey(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [head = "", tail] = (address.split("%", 1)[0] ?? "").split("::");
  const groupsOf = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const [before, after] = [groupsOf(head), groupsOf(tail ?? "")];
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after].slice(0, 4).join(":");
}
