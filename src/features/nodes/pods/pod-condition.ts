import { timestamp } from "../../../machinery/api/clock.ts";
import type { Pod } from "./schema/pod-schema.ts";

type PodCondition = NonNullable<Pod["status"]["conditions"]>[number];

/** The status with a condition of the server, which replaces a condition of the same type (upstream: `podutil.UpdatePodCondition`). */
export function withPodCondition(
  status: Pod["status"],
  said: Pick<PodCondition, "type" | "status" | "reason" | "message"> & { readonly now: number },
): Pod["status"] {
  const { now, ...rest } = said;
  const { conditions = [] } = status;
  const previous = conditions.find(({ type }) => type === rest.type);
  const condition: PodCondition = {
    ...rest,
    lastProbeTime: null,
    lastTransitionTime: previous?.status === rest.status ? previous.lastTransitionTime : timestamp(now),
  };
  const next =
    previous === undefined ? [...conditions, condition] : conditions.map((one) => (one === previous ? condition : one));
  return { ...status, conditions: next };
}
