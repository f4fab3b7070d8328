import { timestamp } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { readyConditionOf } from "./node-schema.ts";
import type { Node, NodeCondition, Taint } from "./node-schema.ts";

/** Upstream's reason for a node whose Lease is not renewed. */
const lostReason = "NodeStatusUnknown";

/**
 * Since when a node is marked as lost, in milliseconds since the epoch. Undefined: it is not marked. The time is in the taint, because a
 * node cannot change its own taints.
 */
export function lostSince(names: Names, { spec }: Node): number | undefined {
  const taint = (spec.taints ?? []).find((one) => isLostTaint(names, one));
  return taint === undefined ? undefined : Date.parse(taint.timeAdded ?? "") || 0;
}

const lostTaintKey = (names: Names): string => names.subdomainKey("node", "unreachable");
/** In either spelling: a Node may come from another cluster, with its taints. */
const isLostTaint = (names: Names, { key }: Taint): boolean => names.ownKey(key) === lostTaintKey(names);

/** The taints of a node with those of a lost node (upstream: `node.kubernetes.io/unreachable`). */
export const withLostTaints = (
  node: Node,
  { names, now }: { readonly names: Names; readonly now: number },
): readonly Taint[] => [
  ...withoutLostTaints(names, node),
  ...["NoSchedule", "NoExecute"].map((effect) => ({ key: lostTaintKey(names), effect, timeAdded: timestamp(now) })),
];

/** The taints of a node without those of a lost node. */
export const withoutLostTaints = (names: Names, { spec }: Node): readonly Taint[] =>
  (spec.taints ?? []).filter((one) => !isLostTaint(names, one));

/**
 * The condition `Ready` of a lost node. Undefined when it need not change, because the node itself reported that it is not ready.
 * `lastSeen` is the renewal time of its Lease.
 */
export function lostCondition(
  node: Node,
  { lastSeen, now }: { readonly lastSeen: string | undefined; readonly now: number },
): NodeCondition | undefined {
  const ready = readyConditionOf(node);
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

/**
 * The condition `Ready` of a node whose Lease is renewed again. Undefined when it need not change, because the node itself has reported its
 * state since.
 */
export function foundCondition(node: Node, now: number): NodeCondition | undefined {
  const ready = readyConditionOf(node);
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
