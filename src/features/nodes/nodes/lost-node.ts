import { timestamp } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { readyConditionOf } from "./node-schema.ts";
import type { Node, NodeCondition, Taint } from "./node-schema.ts";

/** Upstream's reason for a node of which nothing is heard. */
const lostReason = "NodeStatusUnknown";

/** Since when a node is marked as lost, in milliseconds since the epoch. The taint says it: a node cannot change its own. */
export function lostSince(names: Names, { spec }: Node): number | undefined {
  const taint = (spec.taints ?? []).find((one) => isLostTaint(names, one));
  return taint === undefined ? undefined : Date.parse(taint.timeAdded ?? "") || 0;
}

const lostTaintKey = (names: Names): string => names.subdomainKey("node", "unreachable");
const isLostTaint = (names: Names, { key }: Taint): boolean => key === lostTaintKey(names);

/** The taints of a node that is lost (upstream: `node.kubernetes.io/unreachable`). */
export const withLostTaints = (
  node: Node,
  { names, now }: { readonly names: Names; readonly now: number },
): readonly Taint[] => [
  ...withoutLostTaints(names, node),
  ...["NoSchedule", "NoExecute"].map((effect) => ({ key: lostTaintKey(names), effect, timeAdded: timestamp(now) })),
];

/** The taints of a node that is back. */
export const withoutLostTaints = (names: Names, { spec }: Node): readonly Taint[] =>
  (spec.taints ?? []).filter((one) => !isLostTaint(names, one));

/**
 * `Ready` of a node that is lost. Undefined where it stays as it is: a node that said itself that it is not ready. `lastSeen`
 * is the renewal time of its Lease.
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

/** `Ready` of a node that is back. Undefined where it stays as it is: the node has said something itself since. */
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
