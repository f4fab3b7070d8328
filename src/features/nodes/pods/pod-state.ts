import type { Pod } from "./schema/pod-schema.ts";

type ContainerStatus = NonNullable<Pod["status"]["containerStatuses"]>[number];
type Terminated = NonNullable<ContainerStatus["state"]["terminated"]>;

interface PodState {
  /** One word or two for people. */
  readonly reason: string;
  readonly readyContainers: number;
  readonly totalContainers: number;
  readonly restarts: number;
  /** The RFC 3339 time at which a container last ended before a restart. Empty: never. */
  readonly lastRestart: string;
}

/**
 * The state of a Pod for one line of a table (upstream: `printPod`). Init containers count until all of them are completed. Those that keep
 * running beside the others (restartPolicy Always) count like the other containers.
 */
export function podState(pod: Pod): PodState {
  const { metadata, spec, status } = pod;
  const { phase = "", conditions = [], initContainerStatuses = [], containerStatuses = [] } = status;
  const sidecars = new Set(
    (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always").map(({ name }) => name),
  );
  const isReadySidecar = ({ name, started, ready }: ContainerStatus): boolean =>
    sidecars.has(name) && started === true && ready;

  const blockingIndex = initContainerStatuses.findIndex((one) => !isThrough(one, sidecars));
  const reached = blockingIndex === -1 ? initContainerStatuses : initContainerStatuses.slice(0, blockingIndex + 1);
  const blocking = initContainerStatuses[blockingIndex];
  const readySidecars = reached.filter((one) => isReadySidecar(one) && one.state.terminated?.exitCode !== 0);
  const isInitialized = conditions.some(({ type, status: is }) => type === "Initialized" && is === "True");
  const countsMainContainers = blocking === undefined || isInitialized;
  const running = countsMainContainers ? containerStatuses.filter(isRunning) : [];
  const counted = countsMainContainers
    ? [...reached.filter(({ name }) => sidecars.has(name)), ...containerStatuses]
    : reached;
  const initReason =
    blocking && `Init:${initStop(blocking) ?? `${blockingIndex}/${(spec.initContainers ?? []).length}`}`;
  const general = isGated(conditions) ? "SchedulingGated" : (status.reason ?? phase);
  const stopReasons = countsMainContainers ? containerStatuses.map(stopReason) : [];
  const failure = containerStatuses.findIndex(hasFailed);
  const reason = stopReasons.find((one) => one !== undefined) ?? initReason ?? general;
  return {
    reason:
      deletionReason(metadata.deletionTimestamp, status) ??
      afterCompletion(reason, { running, conditions, failure: stopReasons[failure] }),
    readyContainers: readySidecars.length + running.length,
    totalContainers: (spec.containers ?? []).length + sidecars.size,
    restarts: counted.reduce((sum, { restartCount }) => sum + restartCount, 0),
    lastRestart:
      counted
        .map(({ lastState }) => lastState.terminated?.finishedAt ?? "")
        .sort()
        .at(-1) ?? "",
  };
}

/** Whether the next init container may start. */
const isThrough = ({ name, state, started }: ContainerStatus, sidecars: ReadonlySet<string>): boolean =>
  state.terminated?.exitCode === 0 || (sidecars.has(name) && started === true);

/** Whether a container counts as ready. A container whose status also has a reason for waiting or for its end does not count. */
const isRunning = (one: ContainerStatus): boolean =>
  stopReason(one) === undefined && one.ready && one.state.running !== undefined;

const isGated = (conditions: NonNullable<Pod["status"]["conditions"]>): boolean =>
  conditions.some(({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated");

function stopReason({ state: { waiting, terminated } }: ContainerStatus): string | undefined {
  const { reason = "" } = waiting ?? {};
  return reason === "" ? terminated && endOf(terminated) : reason;
}

const hasFailed = ({ state: { waiting, terminated } }: ContainerStatus): boolean =>
  !waiting?.reason && terminated !== undefined && terminated.exitCode !== 0;

/** Why an init container delays the next ones, if its status says why. */
function initStop({ state: { waiting, terminated } }: ContainerStatus): string | undefined {
  if (terminated !== undefined) return endOf(terminated);
  const { reason = "" } = waiting ?? {};
  return reason === "" || reason === "PodInitializing" ? undefined : reason;
}

function endOf({ reason = "", signal = 0, exitCode }: Terminated): string {
  if (reason !== "") return reason;
  return signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

interface Others {
  readonly running: readonly ContainerStatus[];
  readonly conditions: NonNullable<Pod["status"]["conditions"]>;
  /** Why the first failed container failed. Undefined: none failed. */
  readonly failure: string | undefined;
}

/** The reason for a Pod. A Pod with one completed container is not `Completed` when another container runs or has failed. */
function afterCompletion(reason: string, { running, conditions, failure }: Others): string {
  if (reason !== "Completed") return reason;
  const isRunning = running.length > 0;
  if (isRunning && conditions.some(({ type, status }) => type === "Ready" && status === "True")) return "Running";
  return failure ?? (isRunning ? "NotReady" : reason);
}

function deletionReason(deletionTimestamp: string | undefined, { reason, phase }: Pod["status"]): string | undefined {
  if (deletionTimestamp === undefined) return undefined;
  if (reason === "NodeLost") return "Unknown";
  return phase === "Failed" || phase === "Succeeded" ? undefined : "Terminating";
}
