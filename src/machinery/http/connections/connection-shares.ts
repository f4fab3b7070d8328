import { FairShare } from "../../scheduling/fair-share.ts";
import type { SharePath } from "../../scheduling/share-path.ts";
import { addressKey } from "../../api/addresses/address-key.ts";
import type { ConnectionLimits } from "./connection-room.ts";

/** The share that one user may have of the connections that the other users leave. */
const sharePerUser = 0.75;

/** Limits each named user's share of all connections, and of those of one address, which many users have behind a load balancer. */
export class ConnectionShares {
  readonly #limits: ConnectionLimits;
  readonly #ofAll: FairShare;
  readonly #ofAddresses = new Map<string, FairShare>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
    this.#ofAll = new FairShare({ places: limits.connections, sharePerUser });
  }

  /** Takes a place in both shares for a connection. Returns the function that gives it back. Undefined: the user may have no more. */
  take(address: string, path: SharePath): (() => void) | undefined {
    const key = addressKey(address);
    const places = this.#limits.connectionsPerAddress;
    const ofAddress = this.#ofAddresses.get(key) ?? new FairShare({ places, sharePerUser });
    const shares = [this.#ofAll, ofAddress];
    if (!shares.every((share) => share.mayTake(path))) return undefined;
    this.#ofAddresses.set(key, ofAddress);
    for (const share of shares) share.take(path);
    return () => {
      for (const share of shares) share.release(path);
      if (ofAddress.taken === 0) this.#ofAddresses.delete(key);
    };
  }
}
