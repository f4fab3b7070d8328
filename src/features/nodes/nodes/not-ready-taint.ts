import type { Names } from "../../../machinery/api/names.ts";
import type { Node } from "./node-schema.ts";

type Taint = NonNullable<Node["spec"]["taints"]>[number];

/** Keeps new Pods away from a node that has not said that it is ready. */
const notReadyTaint = (names: Names): Taint => ({
  key: names.subdomainKey("node", "not-ready"),
  effect: "NoSchedule",
});

/** In either spelling. */
const isNotReadyTaint = (names: Names, { key, effect }: Taint): boolean =>
  effect === "NoSchedule" && names.ownKey(key) === notReadyTaint(names).key;

/** The taints with that of a node that is not ready (upstream: the admission plugin TaintNodesByCondition, for every new Node). */
export function withNotReadyTaint(names: Names, { spec: { taints = [] } }: Node): readonly Taint[] {
  return taints.some((one) => isNotReadyTaint(names, one)) ? taints : [...taints, notReadyTaint(names)];
}

/** The taints that a node has by its condition `Ready`. One that has not reported it keeps what it has. */
export function taintsByReadiness(names: Names, node: Node): readonly Taint[] {
  const { taints = [] } = node.spec;
  const ready = (node.status.conditions ?? []).find(({ type }) => type === "Ready");
  if (ready === undefined) return taints;
  if (ready.status === "False") return withNotReadyTaint(names, node);
  return taints.some((one) => isNotReadyTaint(names, one))
    ? taints.filter((one) => !isNotReadyTaint(names, one))
    : taints;
}
