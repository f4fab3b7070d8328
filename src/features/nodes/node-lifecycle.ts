import { controllerQueue, ignoring } from "../../machinery/loops/controller.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { eventResource, leaseResource } from "../core/index.ts";
import type { Event } from "../core/index.ts";
import type { Node } from "./nodes/node-schema.ts";
import { nodeResource } from "./resources.ts";
import type { NodeSettings } from "./settings.ts";
import { microTimestamp, timestamp } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";

/**
 * Marks nodes that are heard of no more, as upstream's node lifecycle controller: `Ready` becomes `Unknown`, two taints keep Pods
 * away, an event says so. When the Lease is renewed again, all of it is undone. Nodes that stay away are deleted after the time
 * that the settings give. Times are this process's: a machine's clock does not count.
 */
export const nodeLifecycle = ({ graceMilliseconds, retentionMilliseconds }: NodeSettings): Controller => ({
  name: "nodelifecycle",
  start(context) {
    const { client, clock, informers, log, names } = context;
    const nodes = informers.of(nodeResource(names));
    const leases = informers.of(leaseResource(names));
    const resource = client.resource(nodeResource(names));
    const events = client.resource(eventResource(names), "default");
    /** When a node was last heard of, in milliseconds since the epoch. Nodes that this process has not seen yet get all the time. */
    const heard = new Map<string, number>();

    const record = (node: Node, reason: string, message: string): Promise<void> =>
      ignoring([409], events.create(nodeEvent(node, { names, reason, message, now: clock.now() })));

    const queue = controllerQueue(this.name, context, async (name) => {
      const node = nodes.get(name);
      if (node === undefined) {
        heard.delete(name);
        return "nothing to do: the Node is gone";
      }
      if (readyOf(node) === undefined) return "nothing to do: the node has never reported its state";
      const last = heard.get(name) ?? clock.now();
      heard.set(name, last);
      const wait = last + graceMilliseconds - clock.now();
      if (wait > 0) {
        queue.addAfter(name, wait);
        return lostSince(names, node) === undefined ? "nothing to do: the node was heard of" : found(node);
      }
      return lostSince(names, node) === undefined ? lose(node) : collect(node);
    });

    async function lose(node: Node): Promise<string> {
      const { name = "" } = node.metadata;
      const { renewTime } = leases.get(`${names.namespaces.nodeLease}/${name}`)?.spec ?? {};
      const condition = lostCondition(node, { lastSeen: renewTime, now: clock.now() });
      const lost = condition === undefined ? node : await patchCondition(node, condition);
      await patchTaints(lost, withLostTaints(names, lost, clock.now()));
      await record(node, "NodeNotReady", `Node ${name} status is now: NodeNotReady`);
      log.info({ node: name, lastSeen: renewTime }, "the node is lost: its Lease is not renewed");
      queue.add(name);
      return "marked the node as lost";
    }

    async function found(node: Node): Promise<string> {
      const { name = "" } = node.metadata;
      const condition = foundCondition(node, clock.now());
      const back = condition === undefined ? node : await patchCondition(node, condition);
      await patchTaints(back, withoutLostTaints(names, back));
      const reason = readyOf(back)?.status === "True" ? "NodeReady" : "NodeNotReady";
      await record(node, reason, `Node ${name} status is now: ${reason}`);
      log.info({ node: name }, "the node is back: its Lease is renewed again");
      return "took the marks of a lost node away";
    }

    async function collect(node: Node): Promise<string> {
      const { name = "", uid = "" } = node.metadata;
      if (retentionMilliseconds === undefined) return "nothing to do: lost nodes are kept";
      const wait = (lostSince(names, node) ?? clock.now()) + retentionMilliseconds - clock.now();
      if (wait > 0) {
        queue.addAfter(name, wait);
        return `waits: the Node is deleted in ${Math.ceil(wait / 1000)} s`;
      }
      await record(node, "RemovingNode", `Node ${name} event: Removing Node ${name} from Controller`);
      await ignoring([404, 409], resource.delete(name, { uid }));
      log.info({ node: name }, "deleted the Node: it was lost for as long as --node-retention says");
      return "deleted the Node of a machine that stays away";
    }

    const patchCondition = ({ metadata: { name = "", resourceVersion } }: Node, condition: object): Promise<Node> =>
      resource.patch(
        name,
        { metadata: { resourceVersion }, status: { conditions: [condition] } },
        { type: "strategic-merge", subresource: "status" },
      );
    const patchTaints = ({ metadata: { name = "", resourceVersion } }: Node, taints: unknown): Promise<Node> =>
      resource.patch(name, { metadata: { resourceVersion }, spec: { taints } });

    const hear = (name: string): void => {
      const isLost = (heard.get(name) ?? Infinity) + graceMilliseconds <= clock.now();
      heard.set(name, clock.now());
      const node = nodes.get(name);
      if (isLost || (node !== undefined && lostSince(names, node) !== undefined)) queue.add(name);
    };
    nodes.addHandler({
      onAdd: ({ metadata }) => queue.add(metadata.name ?? ""),
      onUpdate(node, previous) {
        const { name = "" } = node.metadata;
        if (
          readyOf(node)?.lastHeartbeatTime !== readyOf(previous)?.lastHeartbeatTime &&
          readyOf(node)?.status !== "Unknown"
        )
          hear(name);
        if (readyOf(previous) === undefined) queue.add(name);
      },
      onDelete: ({ metadata }) => queue.add(metadata.name ?? ""),
    });
    leases.addHandler({
      onUpdate({ metadata, spec }, previous) {
        if (metadata.namespace !== names.namespaces.nodeLease || spec?.renewTime === previous.spec?.renewTime) return;
        hear(metadata.name ?? "");
      },
    });
    return { queue };
  },
});

interface NodeEventOptions {
  readonly names: Names;
  /** One CamelCase word. */
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What happened to a node, for `kubectl describe node`. Two events of one reason in a second are one. */
function nodeEvent({ metadata }: Node, { names, reason, message, now }: NodeEventOptions): Event {
  const { name = "", uid = "" } = metadata;
  const time = timestamp(now);
  return {
    apiVersion: "v1",
    kind: "Event",
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

type Condition = NonNullable<Node["status"]["conditions"]>[number];
type Taint = NonNullable<Node["spec"]["taints"]>[number];

/** Upstream's reason for a node of which nothing is heard. */
const lostReason = "NodeStatusUnknown";

const readyOf = ({ status }: Node): Condition | undefined =>
  (status.conditions ?? []).find(({ type }) => type === "Ready");

/** Since when a node is marked as lost, in milliseconds since the epoch. The taint says it: a node cannot change its own. */
function lostSince(names: Names, { spec }: Node): number | undefined {
  const taint = (spec.taints ?? []).find((one) => isLostTaint(names, one));
  return taint === undefined ? undefined : Date.parse(taint.timeAdded ?? "") || 0;
}

const lostTaintKey = (names: Names): string => names.subdomainKey("node", "unreachable");
const isLostTaint = (names: Names, { key }: Taint): boolean => key === lostTaintKey(names);

/** The taints of a node that is lost (upstream: `node.kubernetes.io/unreachable`). */
const withLostTaints = (names: Names, node: Node, now: number): readonly Taint[] => [
  ...withoutLostTaints(names, node),
  ...["NoSchedule", "NoExecute"].map((effect) => ({ key: lostTaintKey(names), effect, timeAdded: timestamp(now) })),
];

const withoutLostTaints = (names: Names, { spec }: Node): readonly Taint[] =>
  (spec.taints ?? []).filter((one) => !isLostTaint(names, one));

/**
 * `Ready` of a node that is lost. Undefined where it stays as it is: a node that said itself that it is not ready. `lastSeen`
 * is the renewal time of its Lease.
 */
function lostCondition(
  node: Node,
  { lastSeen, now }: { readonly lastSeen: string | undefined; readonly now: number },
): Condition | undefined {
  const ready = readyOf(node);
  if (ready?.status !== "True") return undefined;
  const seenAt = lastSeen === undefined ? Number.NaN : Date.parse(lastSeen);
  return {
    ...ready,
    status: "Unknown",
    reason: lostReason,
    message: "The node agent has stopped renewing its Lease.",
    lastTransitionTime: timestamp(now),
    ...(!Number.isNaN(seenAt) && { lastHeartbeatTime: timestamp(Math.min(seenAt, now)) }),
  };
}

/** `Ready` of a node that is back. Undefined where it stays as it is: the node has said something itself since. */
function foundCondition(node: Node, now: number): Condition | undefined {
  const ready = readyOf(node);
  if (ready?.status !== "Unknown" || ready.reason !== lostReason) return undefined;
  return {
    ...ready,
    status: "True",
    reason: "AgentReady",
    message: "The node agent renews its Lease again.",
    lastTransitionTime: timestamp(now),
    lastHeartbeatTime: timestamp(now),
  };
}
