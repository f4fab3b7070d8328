import { allValues } from "../all-values.ts";
import type { Container, Pod } from "./pod-schema.ts";

/** The values of fields that a Pod leaves out (upstream: `SetDefaults_Pod`, `SetDefaults_PodSpec`). */
export function podDefaults(pod: Pod): Pod {
  const { spec, status } = pod;
  const podIPs = allValues(
    status.podIP,
    status.podIPs?.map(({ ip }) => ip),
  );
  const [podIP] = podIPs;
  const serviceAccountName = spec.serviceAccountName ?? spec.serviceAccount;
  const complete = (container: Container): Container => withRequests(withPullPolicy(container));
  return {
    ...pod,
    spec: {
      ...spec,
      // The old name of the field always says the same.
      ...(serviceAccountName !== undefined && { serviceAccountName, serviceAccount: serviceAccountName }),
      securityContext: spec.securityContext ?? {},
      containers: (spec.containers ?? []).map(complete),
      ...(spec.initContainers !== undefined && { initContainers: spec.initContainers.map(complete) }),
    },
    status: { ...status, ...(podIP !== undefined && { podIP, podIPs: podIPs.map((ip) => ({ ip })) }) },
  };
}

function withPullPolicy(container: Container): Container {
  if ((container.imagePullPolicy ?? "") !== "") return container;
  const image = container.image ?? "";
  const name = image.slice(image.lastIndexOf("/") + 1);
  const isLatest = !image.includes("@") && (!name.includes(":") || name.endsWith(":latest"));
  return { ...container, imagePullPolicy: isLatest ? "Always" : "IfNotPresent" };
}

/** Who limits a resource, and asks for none of it, asks for as much. */
function withRequests(container: Container): Container {
  const { limits, requests } = container.resources;
  if (limits === undefined) return container;
  const sorted = Object.entries({ ...limits, ...requests }).sort(([one], [other]) => (one < other ? -1 : 1));
  return { ...container, resources: { ...container.resources, requests: Object.fromEntries(sorted) } };
}
