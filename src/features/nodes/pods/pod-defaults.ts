import { valuesOfBothFields } from "../values-of-both-fields.ts";
import type { Container, Pod, Volume } from "./schema/pod-schema.ts";

/**
 * Fills in the fields that a Pod leaves out, and converts the values that upstream converts (upstream: `SetDefaults_Pod`,
 * `SetDefaults_PodSpec`, `SetDefaults_Volume`, `Convert_v1_Pod_To_core_Pod`).
 */
export function podDefaults(pod: Pod): Pod {
  const { spec, status } = pod;
  const podIPs = valuesOfBothFields(
    status.podIP,
    status.podIPs?.map(({ ip }) => ip),
  );
  const [podIP] = podIPs;
  const serviceAccountName = spec.serviceAccountName ?? spec.serviceAccount;
  const { terminationGracePeriodSeconds = 0, volumes } = spec;
  const complete = (container: Container): Container =>
    withRequests(withPullPolicy(spec.hostNetwork === true ? withHostPorts(container) : container));
  return {
    ...pod,
    spec: {
      ...spec,
      // The field with the old name always has the same value.
      ...(serviceAccountName !== undefined && { serviceAccountName, serviceAccount: serviceAccountName }),
      securityContext: spec.securityContext ?? {},
      ...(terminationGracePeriodSeconds < 0 && { terminationGracePeriodSeconds: 1 }),
      ...(volumes !== undefined && { volumes: volumes.map(withSource) }),
      containers: (spec.containers ?? []).map(complete),
      ...(spec.initContainers !== undefined && { initContainers: spec.initContainers.map(complete) }),
    },
    status: { ...status, ...(podIP !== undefined && { podIP, podIPs: podIPs.map((ip) => ({ ip })) }) },
  };
}

function withSource({ name, ...source }: Volume): Volume {
  if (Object.keys(source).length === 0) return { name, emptyDir: {} };
  const { image } = source;
  return {
    name,
    ...source,
    ...(image !== undefined && { image: { pullPolicy: pullPolicyOf(image.reference), ...image } }),
  };
}

/** The ports of a container on its node's network, where each port is a host port. */
const withHostPorts = ({ ports, ...container }: Container): Container => ({
  ...container,
  ...(ports !== undefined && {
    ports: ports.map((port) => ({ ...port, hostPort: port.hostPort || port.containerPort })),
  }),
});

const withPullPolicy = (container: Container): Container =>
  (container.imagePullPolicy ?? "") === ""
    ? { ...container, imagePullPolicy: pullPolicyOf(container.image) }
    : container;

function pullPolicyOf(image = ""): string {
  const name = image.slice(image.lastIndexOf("/") + 1);
  const isLatest = !image.includes("@") && (!name.includes(":") || name.endsWith(":latest"));
  return isLatest ? "Always" : "IfNotPresent";
}

/** A resource with a limit but no request gets a request of the same amount. */
function withRequests(container: Container): Container {
  const { limits, requests } = container.resources;
  if (limits === undefined) return container;
  const sorted = Object.entries({ ...limits, ...requests }).sort(([one], [other]) => (one < other ? -1 : 1));
  return { ...container, resources: { ...container.resources, requests: Object.fromEntries(sorted) } };
}
