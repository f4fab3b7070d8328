import { ignoreCodes } from "../../machinery/client/ignore-codes.ts";
import { controllerQueue } from "../../machinery/loops/controller.ts";
import type { Controller, ControllerContext, StartedController } from "../../machinery/loops/controller.ts";
import { deleteWithUid } from "../../machinery/loops/delete-with-uid.ts";
import type { FollowedObjects } from "../../machinery/loops/informer.ts";
import type { WorkQueue } from "../../machinery/loops/work-queue.ts";
import { eventResource, leaseResource } from "../core/index.ts";
import type { Event, Lease } from "../core/index.ts";
import { readyConditionOf } from "./nodes/node-schema.ts";
import type { Node, Taint } from "./nodes/node-schema.ts";
import { foundCondition, lostCondition, lostSince, withLostTaints, withoutLostTaints } from "./nodes/lost-node.ts";
import { taintsByCondition } from "./nodes/condition-taints.ts";
import { nodeResource } from "./resources.ts";
import type { NodeSettings } from "./settings.ts";
import { microTimestamp, timestamp } from "../../machinery/api/clock.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { NewObject, ResourceClient } from "../../machinery/client/api-client.ts";
import type { Log } from "../../machinery/logging/log.ts";
import { deletionDelayMilliseconds } from "../../machinery/scheduling/deletion-delays.ts";

/**
 * Taints nodes by their conditions, and marks nodes whose Lease is not renewed, as upstream's node lifecycle controller does: `Ready`
 * becomes `Unknown`, two taints keep Pods away, and an event reports it. When the Lease is renewed again, all of this is undone. Nodes that
 * stay lost are deleted after the time in the settings. Times are this process's: a machine's own clock does not count. Whether a Lease is
 * renewed in time is measured with the monotonic clock, so changes of the time of day do not matter (upstream: `probeTimestamp`).
 */
export const nodeLifecycle = (settings: NodeSettings): Controller => ({
  name: "nodelifecycle",
  start: (context) => new NodeLifecycle(context, settings).run(),
});

class NodeLifecycle {
  readonly #settings: NodeSettings;
  readonly #names: Names;
  readonly #clock: Clock;
  readonly #monotonic: Clock;
  readonly #log: Pick<Log, "info" | "error">;
  readonly #nodes: FollowedObjects<Node>;
  readonly #leases: FollowedObjects<Lease>;
  readonly #resource: ResourceClient<Node>;
  readonly #events: ResourceClient<Event>;
  readonly #queue: WorkQueue;
  /** When a node's Lease was last seen renewed, by the monotonic clock. For a node that this process sees for the first time: now. */
  readonly #renewedAt = new Map<string, number>();
  /** The names of the nodes that are marked as lost, so that a heartbeat need not read the Node. */
  readonly #marked = new Set<string>();

  constructor(context: ControllerContext, settings: NodeSettings) {
    const { client, clock, monotonic, informers, log, names } = context;
    this.#settings = settings;
    this.#names = names;
    this.#clock = clock;
    this.#monotonic = monotonic;
    this.#log = log;
    this.#nodes = informers.of(nodeResource(names));
    this.#leases = informers.of(leaseResource(names));
    this.#resource = client.resource(nodeResource(names));
    this.#events = client.resource(eventResource(names), "default");
    this.#queue = controllerQueue(context, { reconcile: (name) => this.#reconcile(name) });
  }

  run(): StartedController {
    this.#nodes.addHandler({
      onAdd: (node) => {
        this.#noteMark(node);
        this.#queue.add(node.metadata.name ?? "");
      },
      onUpdate: (node, previous) => this.#nodeChanged(node, previous),
      onDelete: ({ metadata: { name = "" } }) => {
        this.#marked.delete(name);
        this.#queue.add(name);
      },
    });
    this.#leases.addHandler({ onUpdate: (lease, previous) => this.#leaseChanged(lease, previous) });
    return { queue: this.#queue };
  }

  #noteMark(node: Node): void {
    const { name = "" } = node.metadata;
    if (lostSince(this.#names, node) === undefined) this.#marked.delete(name);
    else this.#marked.add(name);
  }

  #nodeChanged(node: Node, previous: Node): void {
    const { name = "" } = node.metadata;
    this.#noteMark(node);
    const [ready, before] = [readyConditionOf(node), readyConditionOf(previous)];
    if (ready?.lastHeartbeatTime !== before?.lastHeartbeatTime && ready?.status !== "Unknown")
      this.#noteHeartbeat(name);
    if (ready?.status !== before?.status || taintsByCondition(this.#names, node) !== undefined) this.#queue.add(name);
  }

  #leaseChanged({ metadata, spec }: Lease, previous: Lease): void {
    if (metadata.namespace !== this.#names.namespaces.nodeLease || spec.renewTime === previous.spec.renewTime) return;
    const { name = "" } = metadata;
    // Without its Node, this says nothing of a Node that registers later under the name.
    if (this.#nodes.get(name) !== undefined) this.#noteHeartbeat(name);
  }

  #noteHeartbeat(name: string): void {
    const isLost = (this.#renewedAt.get(name) ?? Infinity) + this.#settings.graceMilliseconds <= this.#monotonic.now();
    this.#renewedAt.set(name, this.#monotonic.now());
    if (isLost || this.#marked.has(name)) this.#queue.add(name);
  }

  async #reconcile(name: string): Promise<string> {
    const found = this.#nodes.get(name);
    if (found === undefined) {
      this.#renewedAt.delete(name);
      return "nothing to do: the Node is gone";
    }
    const taints = taintsByCondition(this.#names, found);
    const node = taints === undefined ? found : await this.#patchTaints(found, taints);
    if (readyConditionOf(node) === undefined) return "nothing to do: the node has never reported its state";
    const last = this.#renewedAt.get(name) ?? this.#monotonic.now();
    this.#renewedAt.set(name, last);
    const wait = last + this.#settings.graceMilliseconds - this.#monotonic.now();
    const isMarked = lostSince(this.#names, node) !== undefined;
    if (wait <= 0) return isMarked ? this.#deleteWhenDue(node) : this.#markLost(node);
    this.#queue.addAfter(name, wait);
    return isMarked ? this.#unmarkLost(node) : "nothing to do: the node was heard of";
  }

  async #markLost(node: Node): Promise<string> {
    const { name = "" } = node.metadata;
    const { renewTime } = this.#leases.get(`${this.#names.namespaces.nodeLease}/${name}`)?.spec ?? {};
    const condition = lostCondition(node, { lastSeen: renewTime, now: this.#clock.now() });
    const lost = condition === undefined ? node : await this.#patchCondition(node, condition);
    await this.#patchTaints(lost, withLostTaints(lost, { names: this.#names, now: this.#clock.now() }));
    await this.#record(node, { reason: "NodeNotReady", message: `Node ${name} status is now: NodeNotReady` });
    this.#log.info({ node: name, lastSeen: renewTime }, "the node is lost: its Lease is not renewed");
    this.#queue.add(name);
    return "marked the node as lost";
  }

  async #unmarkLost(node: Node): Promise<string> {
    const { name = "" } = node.metadata;
    const condition = foundCondition(node, this.#clock.now());
    const back = condition === undefined ? node : await this.#patchCondition(node, condition);
    await this.#patchTaints(back, withoutLostTaints(this.#names, back));
    const reason = readyConditionOf(back)?.status === "True" ? "NodeReady" : "NodeNotReady";
    await this.#record(node, { reason, message: `Node ${name} status is now: ${reason}` });
    this.#log.info({ node: name }, "the node is back: its Lease is renewed again");
    return "took the marks of a lost node away";
  }

  async #deleteWhenDue(node: Node): Promise<string> {
    const { name = "" } = node.metadata;
    const { retentionMilliseconds } = this.#settings;
    if (retentionMilliseconds === undefined) return "nothing to do: lost nodes are kept";
    const [now, monotonicNow] = [this.#clock.now(), this.#monotonic.now()];
    const end = (lostSince(this.#names, node) ?? now) + retentionMilliseconds;
    // The wait by the monotonic clock since this process last saw a renewal.
    const seenEnd =
      (this.#renewedAt.get(name) ?? monotonicNow) + Math.min(retentionMilliseconds, deletionDelayMilliseconds);
    const wait = Math.max(end - now, seenEnd - monotonicNow);
    if (wait > 0) {
      this.#queue.addAfter(name, wait);
      return `waits: the Node is deleted in ${Math.ceil(wait / 1000)} s`;
    }
    const message = `Node ${name} event: Removing Node ${name} from Controller`;
    await this.#record(node, { reason: "RemovingNode", message });
    await deleteWithUid(this.#resource, node);
    this.#log.info({ node: name }, "deleted the Node: it was lost for as long as --node-retention says");
    return "deleted the Node of a machine that stays away";
  }

  #patchCondition({ metadata: { name = "", resourceVersion } }: Node, condition: object): Promise<Node> {
    const body = { metadata: { resourceVersion }, status: { conditions: [condition] } };
    return this.#resource.patch(name, { body, type: "strategic-merge", subresource: "status" });
  }

  #patchTaints({ metadata: { name = "", resourceVersion } }: Node, taints: readonly Taint[]): Promise<Node> {
    return this.#resource.patch(name, { body: { metadata: { resourceVersion }, spec: { taints } } });
  }

  async #record(node: Node, said: Pick<NodeEventOptions, "reason" | "message">): Promise<void> {
    const event = nodeEvent(node, { names: this.#names, ...said, now: this.#clock.now() });
    await ignoreCodes([409], this.#events.create(event));
  }
}

interface NodeEventOptions {
  readonly names: Names;
  /** The reason as one CamelCase word. */
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** An event about a node, for `kubectl describe node`. Two events with the same reason in the same second are one. */
function nodeEvent({ metadata }: Node, { names, reason, message, now }: NodeEventOptions): NewObject<Event> {
  const { name = "", uid = "" } = metadata;
  const time = timestamp(now);
  return {
    metadata: { name: `${name}.${reason.toLowerCase()}.${Math.floor(now / 1000).toString(16)}`, namespace: "default" },
    involvedObject: { apiVersion: "v1", kind: "Node", name, uid },
    reason,
    message,
    type: "Normal",
    action: reason,
    source: {},
    reportingComponent: `${names.group("signet")}/node-lifecycle`,
    reportingInstance: "node-lifecycle",
    firstTimestamp: time,
    lastTimestamp: time,
    eventTime: microTimestamp(now),
  };
}
