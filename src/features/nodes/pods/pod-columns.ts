import type { Column } from "../../../machinery/registry/resource-definition.ts";
import { ageColumn } from "../../../machinery/registry/columns.ts";
import { ageOf } from "../../../machinery/registry/human-duration.ts";
import type { Pod } from "./pod-schema.ts";

type ContainerStatus = NonNullable<Pod["status"]["containerStatuses"]>[number];

/** A Pod's columns as upstream's printer has them. */
export const podColumns: readonly Column<Pod>[] = [
  {
    name: "Ready",
    type: "string",
    description: "How many of the containers are ready.",
    cell: ({ spec, status }) => {
      const ready = (status.containerStatuses ?? []).filter(
        ({ ready: isReady, state }) => isReady && state.running !== undefined,
      );
      return `${ready.length}/${(spec.containers ?? []).length}`;
    },
  },
  { name: "Status", type: "string", description: "The state of the Pod and its containers.", cell: stateOf },
  {
    name: "Restarts",
    type: "string",
    description: "How often containers were restarted, and when the last time was.",
    cell: ({ status }, { now }) => restartsOf(status.containerStatuses ?? [], now),
  },
  ageColumn(),
  {
    name: "IP",
    type: "string",
    priority: 1,
    description: "The Pod's address.",
    cell: ({ status }) => status.podIPs?.[0]?.ip ?? "<none>",
  },
  {
    name: "Node",
    type: "string",
    priority: 1,
    description: "The node that the Pod is on.",
    cell: ({ spec }) => spec.nodeName ?? "<none>",
  },
  {
    name: "Nominated Node",
    type: "string",
    priority: 1,
    description: "The node that is being made free for the Pod.",
    cell: ({ status }) => status.nominatedNodeName ?? "<none>",
  },
  {
    name: "Readiness Gates",
    type: "string",
    priority: 1,
    description: "How many of the conditions that the Pod's readiness depends on are True.",
    cell: ({ spec, status }) => {
      const gates = spec.readinessGates ?? [];
      const isTrue = new Set((status.conditions ?? []).filter((one) => one.status === "True").map(({ type }) => type));
      return gates.length === 0
        ? "<none>"
        : `${gates.filter(({ conditionType }) => isTrue.has(conditionType)).length}/${gates.length}`;
    },
  },
];

function stateOf({ metadata, status }: Pod): string {
  const { phase = "", containerStatuses = [] } = status;
  const hasEnded = phase === "Failed" || phase === "Succeeded";
  if (metadata.deletionTimestamp !== undefined && status.reason === "NodeLost") return "Unknown";
  if (metadata.deletionTimestamp !== undefined && !hasEnded) return "Terminating";
  const general = status.reason ?? phase;
  return containerStatuses.map(containerReason).find((reason) => reason !== undefined) ?? general;
}

function containerReason({ state }: ContainerStatus): string | undefined {
  if ((state.waiting?.reason ?? "") !== "") return state.waiting?.reason;
  const { terminated } = state;
  if (terminated === undefined) return undefined;
  if ((terminated.reason ?? "") !== "") return terminated.reason;
  const { signal = 0, exitCode } = terminated;
  return signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

function restartsOf(statuses: readonly ContainerStatus[], now: number): string {
  const restarts = statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
  const last =
    statuses
      .map(({ lastState }) => lastState.terminated?.finishedAt ?? "")
      .sort()
      .at(-1) ?? "";
  return restarts === 0 || last === "" ? String(restarts) : `${restarts} (${ageOf(last, now)} ago)`;
}
