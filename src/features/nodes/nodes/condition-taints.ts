import type { Names } from "../../../machinery/api/names.ts";
import type { Node, Taint } from "./node-schema.ts";

/** The conditions that keep new Pods away from a node, with their taints (upstream: `nodeConditionToTaintKeyStatusMap`). */
const taintingConditions = [
  { type: "Ready", status: "False", taint: "not-ready" },
  { type: "MemoryPressure", status: "True", taint: "memory-pressure" },
  { type: "DiskPressure", status: "True", taint: "disk-pressure" },
  { type: "NetworkUnavailable", status: "True", taint: "network-unavailable" },
  { type: "PIDPressure", status: "True", taint: "pid-pressure" },
] as const;

const noScheduleTaint = (names: Names, taint: string): Taint => ({
  key: names.subdomainKey("node", taint),
  effect: "NoSchedule",
});

/**
 * The node's taints and the taint of a node that is not ready (upstream: the admission plugin TaintNodesByCondition, for every new Node).
 */
export function withNotReadyTaint(names: Names, { spec: { taints = [] } }: Node): readonly Taint[] {
  const notReady = noScheduleTaint(names, "not-ready");
  return taints.some((one) => isSameTaint(names, { one, other: notReady })) ? taints : [...taints, notReady];
}

/**
 * The taints that a node must have by its conditions and by `spec.unschedulable`. Undefined when it has these already. The taint
 * `not-ready` stays until the node has reported its state.
 */
export function taintsByCondition(names: Names, { spec, status }: Node): readonly Taint[] | undefined {
  const { taints = [], unschedulable = false } = spec;
  const { conditions = [] } = status;
  const isWanted = new Map([["unschedulable", unschedulable]]);
  for (const { type, status: tainting, taint } of taintingConditions) {
    const reported = conditions.find((one) => one.type === type)?.status;
    if (type !== "Ready" || reported !== undefined) isWanted.set(taint, reported === tainting);
  }
  let next = taints;
  for (const [name, isPresent] of isWanted) {
    const taint = noScheduleTaint(names, name);
    const others = next.filter((one) => !isSameTaint(names, { one, other: taint }));
    if (isPresent === others.length < next.length) continue;
    next = isPresent ? [...next, taint] : others;
  }
  return next === taints ? undefined : next;
}

/** Whether two taints have the same key, in either spelling, and the same effect. */
const isSameTaint = (names: Names, { one, other }: { readonly one: Taint; readonly other: Taint }): boolean =>
  one.effect === other.effect && names.ownKey(one.key) === names.ownKey(other.key);
