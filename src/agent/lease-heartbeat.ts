import { ApiError } from "../machinery/api/api-error.ts";
import type { Clock } from "../machinery/api/clock.ts";
import type { Names } from "../machinery/api/names.ts";
import type { ResourceClient } from "../machinery/client/api-client.ts";
import type { Lease } from "../features/core/resources.ts";

/** As a kubelet: renewed every 10 s, and others wait 40 s before they take the node for lost. */
export const leaseIntervalMilliseconds = 10_000;
const leaseDurationSeconds = 40;

export interface LeaseHeartbeatOptions {
  readonly names: Names;
  readonly nodeName: string;
  /** In the namespace of node leases. */
  readonly leases: ResourceClient<Lease>;
  /** The server's time. */
  readonly clock: Clock;
  /** The uid of the Node, once registered: the Lease goes with it. */
  readonly nodeUid: () => string | undefined;
}

/** Renews the node's Lease; each call of `beat` is one renewal, and rejects when that failed. */
export class LeaseHeartbeat {
  readonly #options: LeaseHeartbeatOptions;
  /** As the server last answered it; undefined: look first. */
  #lease: Lease | undefined;

  constructor(options: LeaseHeartbeatOptions) {
    this.#options = options;
  }

  async beat(): Promise<void> {
    const { leases, nodeName } = this.#options;
    const kept = this.#lease;
    this.#lease = undefined;
    if (kept !== undefined) this.#lease = await unlessChanged(leases.update(this.#renewed(kept)));
    if (this.#lease !== undefined) return;
    const found = await leases.find(nodeName);
    this.#lease = found === undefined ? await leases.create(this.#new()) : await leases.update(this.#renewed(found));
  }

  #new(): Lease {
    const { names, nodeName } = this.#options;
    return this.#renewed({
      apiVersion: `${names.group("coordination")}/v1`,
      kind: "Lease",
      metadata: { name: nodeName, namespace: names.namespaces.nodeLease },
      spec: {},
    });
  }

  #renewed(lease: Lease): Lease {
    const { nodeName, clock, nodeUid } = this.#options;
    const uid = nodeUid();
    return {
      ...lease,
      metadata: {
        ...lease.metadata,
        ...(uid !== undefined && { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: nodeName, uid }] }),
      },
      spec: {
        ...lease.spec,
        holderIdentity: nodeName,
        leaseDurationSeconds,
        renewTime: microTime(clock.now()),
      },
    };
  }
}

/** RFC 3339 with microseconds, as MicroTime is written. */
const microTime = (milliseconds: number): string => new Date(milliseconds).toISOString().replace("Z", "000Z");

/** Undefined when someone else wrote or deleted the Lease: what is there now must be read first. */
async function unlessChanged(update: Promise<Lease>): Promise<Lease | undefined> {
  try {
    return await update;
  } catch (error) {
    if (error instanceof ApiError && (error.code === 404 || error.code === 409)) return undefined;
    throw error;
  }
}
