import { microTimestamp } from "../../machinery/api/clock.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import { ignoreCodes } from "../../machinery/client/ignore-codes.ts";
import type { ResourceClient } from "../../machinery/client/api-client.ts";
import type { Lease } from "../../features/core/resources.ts";

/** Like a kubelet, the agent renews the Lease four times in its duration. */
export const renewalIntervalMilliseconds = (leaseDurationSeconds: number): number => (leaseDurationSeconds * 1000) / 4;

interface LeaseHeartbeatOptions {
  readonly names: Names;
  readonly nodeName: string;
  readonly leaseDurationSeconds: number;
  /** In the namespace of node leases. */
  readonly leases: ResourceClient<Lease>;
  /** The server's time. */
  readonly clock: Clock;
  /** Registers the Node if it is missing, and returns its uid. */
  readonly registeredNodeUid: () => Promise<string | undefined>;
}

/** Renews the node's Lease. Each call of `beat` is one renewal, and rejects when that failed. */
export class LeaseHeartbeat {
  readonly #options: LeaseHeartbeatOptions;
  /** The Lease in the server's last answer. Undefined: it must be read before the next renewal. */
  #lease: Lease | undefined;
  /** How many beats in a row found a renewal that this agent did not make. */
  #others = 0;

  constructor(options: LeaseHeartbeatOptions) {
    this.#options = options;
  }

  /** Whether another agent renews the Lease too. One foreign renewal is not enough: the server's data may have been restored. */
  get isShared(): boolean {
    return this.#others > 1;
  }

  async beat(): Promise<void> {
    const { leases, nodeName } = this.#options;
    const known = this.#lease;
    const renewal = known && this.#renewed(known);
    this.#lease = undefined;
    const updated = renewal && (await ignoreCodes([404, 409], leases.update(renewal)));
    // Undefined: another client has changed or deleted it.
    const stored = updated ?? (await ignoreCodes([409], this.#create()));
    if (stored !== undefined) {
      this.#others = 0;
      this.#lease = stored;
      return;
    }
    const found = await leases.get(nodeName);
    // Compares with both renewals, because the answer to this agent's own renewal may have been lost.
    if (known !== undefined)
      this.#others = [known, renewal].some((own) => isSameRenewal(own, found)) ? 0 : this.#others + 1;
    this.#lease = await leases.update(this.#renewed(found));
  }

  /**
   * Creates the Lease after the Node. A Lease is deleted together with its Node, so a new Lease with the uid of the deleted Node would be
   * deleted too.
   */
  async #create(): Promise<Lease> {
    const { names, nodeName, leases, registeredNodeUid } = this.#options;
    const uid = await registeredNodeUid();
    return leases.create({
      metadata: {
        name: nodeName,
        namespace: names.namespaces.nodeLease,
        ...(uid !== undefined && { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: nodeName, uid }] }),
      },
      spec: this.#renewal(),
    });
  }

  #renewed(lease: Lease): Lease {
    return { ...lease, spec: { ...lease.spec, ...this.#renewal() } };
  }

  #renewal(): Lease["spec"] {
    const { nodeName, leaseDurationSeconds, clock } = this.#options;
    return { holderIdentity: nodeName, leaseDurationSeconds, renewTime: microTimestamp(clock.now()) };
  }
}

/** Compares times, not texts: a server may write the same time in another form. */
const isSameRenewal = (one: Lease | undefined, other: Lease): boolean =>
  Date.parse(one?.spec.renewTime ?? "") === Date.parse(other.spec.renewTime ?? "");
