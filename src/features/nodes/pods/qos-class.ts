import type { Container, Pod } from "./schema/pod-schema.ts";

/** The quality of service class of a Pod, by its requests and limits (upstream: `ComputePodQOS`). */
export function qosClassOf({ spec }: Pod): "Guaranteed" | "Burstable" | "BestEffort" {
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const all = spec.resources === undefined ? containers.map(({ resources }) => resources) : [spec.resources];
  const amounts = all.flatMap(({ limits = {}, requests = {} }: Container["resources"]) =>
    ["cpu", "memory"].map((name) => [limits[name] ?? "0", requests[name] ?? "0"] as const),
  );
  if (amounts.flat().every((amount) => amount === "0")) return "BestEffort";
  const isGuaranteed = amounts.every(([limit, request]) => limit !== "0" && limit === request);
  return isGuaranteed ? "Guaranteed" : "Burstable";
}
