import type { Names } from "../../../machinery/api/names.ts";
import type { Column, RowCondition } from "../../../machinery/registry/definition/resource-definition.ts";
import { ageColumn, nameColumn, shortLinkDomain } from "../../../machinery/registry/definition/columns.ts";
import { ageOf } from "../../../machinery/registry/definition/human-duration.ts";
import type { Pod } from "./schema/pod-schema.ts";
import { podState } from "./pod-state.ts";

/** The columns of a Pod, as in upstream's printer. */
export const podColumns = (names: Names): Column<Pod>[] => [
  nameColumn(names),
  {
    name: "Ready",
    description: "The aggregate readiness state of this pod for accepting traffic.",
    cell(pod) {
      const { readyContainers, totalContainers } = podState(pod);
      return `${readyContainers}/${totalContainers}`;
    },
  },
  {
    name: "Status",
    description: "The aggregate status of the containers in this pod.",
    cell: (pod) => podState(pod).reason,
  },
  {
    name: "Restarts",
    description:
      "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
    cell(pod, { now }) {
      const { restarts, lastRestart } = podState(pod);
      return restarts === 0 || lastRestart === "" ? String(restarts) : `${restarts} (${ageOf(lastRestart, now)} ago)`;
    },
  },
  ageColumn(names),
  {
    name: "IP",
    isWide: true,
    description:
      "podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated.",
    cell: ({ status }) => status.podIPs?.[0]?.ip ?? "<none>",
  },
  {
    name: "Node",
    isWide: true,
    description: `NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for scheduling by the scheduler defined in schedulerName. Once this field is set, the kubelet for this node becomes responsible for the lifecycle of this pod. This field should not be used to express a desire for the pod to be scheduled on a specific node. https://${names.domain}/docs/concepts/scheduling-eviction/assign-pod-node/#nodename`,
    cell: ({ spec }) => spec.nodeName ?? "<none>",
  },
  {
    name: "Nominated Node",
    isWide: true,
    description:
      "nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled right away as preemption victims receive their graceful termination periods. This field does not guarantee that the pod will be scheduled on this node. Scheduler may decide to place the pod elsewhere if other nodes become available sooner. Scheduler may also decide to give the resources on this node to a higher priority pod that is created after preemption. As a result, this field may be different than PodSpec.nodeName when the pod is scheduled.",
    cell: ({ status }) => status.nominatedNodeName ?? "<none>",
  },
  {
    name: "Readiness Gates",
    isWide: true,
    description: `If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its containers are ready AND all conditions specified in the readiness gates have status equal to "True" More info: https://git.${shortLinkDomain(names)}/enhancements/keps/sig-network/580-pod-readiness-gates`,
    cell: ({ spec, status }) => {
      const gates = spec.readinessGates ?? [];
      const isTrue = new Set((status.conditions ?? []).filter((one) => one.status === "True").map(({ type }) => type));
      return gates.length === 0
        ? "<none>"
        : `${gates.filter(({ conditionType }) => isTrue.has(conditionType)).length}/${gates.length}`;
    },
  },
];

/** The row conditions by which kubectl can hide a Pod (upstream: `podSuccessConditions`, `podFailedConditions`). */
export function podRowConditions({ status }: Pod): RowCondition[] {
  const messages: Readonly<Record<string, string>> = {
    Succeeded: "The pod has completed successfully.",
    Failed: "The pod failed.",
  };
  const { phase: reason = "" } = status;
  const message = messages[reason];
  return message === undefined ? [] : [{ type: "Completed", status: "True", reason, message }];
}
