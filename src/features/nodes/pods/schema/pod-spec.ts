import {
  atomicList,
  atomicMapOf,
  boolean,
  int32,
  int64,
  mapList,
  named,
  string,
  unionList,
} from "../../../../machinery/schema/schema.ts";
import {
  atomicStruct,
  nullable,
  omitEmpty,
  pointer,
  refersTo,
  required,
  struct,
} from "../../../../machinery/schema/struct.ts";
import { localObjectReference } from "../../../../machinery/schema/object-references.ts";
import { container, ephemeralContainer } from "./container.ts";
import { resourceList, resourceRequirements } from "./container-resources.ts";
import { affinity, toleration, topologySpreadConstraint } from "./scheduling.ts";
import { podSecurityContext } from "./security-context.ts";
import { volume } from "./volume.ts";

const podSchedulingGroup = struct("v1.PodSchedulingGroup", "The group of Pods that a Pod is scheduled with.", {
  podGroupName: pointer(1, string, "The PodGroup in the Pod's namespace."),
});

const evictionResponder = atomicStruct("v1.EvictionResponder", "A program that can evict a Pod in an orderly way.", {
  name: required(1, string, "Its name, as a qualified name."),
  priority: nullable(2, int32, "Those with higher numbers are asked first.", { isRequired: true }),
});

const podReadinessGate = struct("v1.PodReadinessGate", "A condition that must be True too before a Pod is ready.", {
  conditionType: required(1, named(string, "v1.PodConditionType"), "The type of the condition."),
});

const podSchedulingGate = struct("v1.PodSchedulingGate", "Keeps a Pod from being scheduled while it is there.", {
  name: required(1, string, "The gate's name."),
});

const podOS = struct("v1.PodOS", "The operating system of a Pod's containers.", {
  name: required(1, named(string, "v1.OSName"), "linux or windows."),
});

const podResourceClaim = struct("v1.PodResourceClaim", "A claim on devices that a Pod's containers can refer to.", {
  name: required(1, string, "The name by which containers refer to it."),
  resourceClaimName: pointer(3, string, "The ResourceClaim in the Pod's namespace."),
  resourceClaimTemplateName: pointer(
    4,
    string,
    "The template from which a claim is made for the Pod.",
    refersTo("ResourceClaimTemplate"),
  ),
});

const hostAlias = struct("v1.HostAlias", "A line of a hosts file.", {
  ip: required(1, string, "The address."),
  hostnames: omitEmpty(2, atomicList(string), "The names for it."),
});

const podDNSConfigOption = struct("v1.PodDNSConfigOption", "One option of a resolver.", {
  name: omitEmpty(1, string, "The option's name."),
  value: pointer(2, string, "The option's value, when it has one."),
});

const podDNSConfig = struct(
  "v1.PodDNSConfig",
  "Settings of name resolution that are added to those of the dnsPolicy.",
  {
    nameservers: omitEmpty(1, atomicList(string), "Addresses of name servers."),
    searches: omitEmpty(2, atomicList(string), "Domains to search for short names."),
    options: omitEmpty(3, atomicList(podDNSConfigOption), "Options of the resolver."),
  },
);

export const podSpec = struct("v1.PodSpec", "What a Pod runs, on which node, and as which account.", {
  volumes: omitEmpty(1, unionList(volume, "name"), "What the containers can mount."),
  initContainers: omitEmpty(20, mapList(container, "name"), "Programs that run before the others, one after another."),
  containers: required(2, mapList(container, "name"), "The programs of the Pod, one at least."),
  ephemeralContainers: omitEmpty(
    34,
    mapList(ephemeralContainer, "name"),
    "Containers that were added to a running Pod, to look into it.",
  ),
  restartPolicy: omitEmpty(
    3,
    named(string, "v1.RestartPolicy"),
    "Whether programs that end are restarted: Always, OnFailure or Never.",
    { default: "Always" },
  ),
  terminationGracePeriodSeconds: pointer(4, int64, "Seconds that the Pod has to end when it is deleted.", {
    default: 30,
  }),
  activeDeadlineSeconds: pointer(5, int64, "Seconds after which the Pod is ended."),
  dnsPolicy: omitEmpty(6, named(string, "v1.DNSPolicy"), "How names are resolved.", { default: "ClusterFirst" }),
  nodeSelector: omitEmpty(7, atomicMapOf(string), "Labels that the node must have."),
  serviceAccountName: omitEmpty(
    8,
    string,
    "The service account that the Pod runs as: `default` when none is named.",
    refersTo("ServiceAccount"),
  ),
  serviceAccount: omitEmpty(9, string, "Deprecated: the same as serviceAccountName.", refersTo("ServiceAccount")),
  automountServiceAccountToken: pointer(21, boolean, "Whether the Pod gets an API token mounted."),
  nodeName: omitEmpty(10, string, "The node that the Pod is on. It cannot be changed."),
  hostNetwork: omitEmpty(11, boolean, "Whether the Pod uses its node's network."),
  hostPID: omitEmpty(12, boolean, "Whether the Pod sees its node's processes."),
  hostIPC: omitEmpty(13, boolean, "Whether the Pod shares its node's IPC namespace."),
  shareProcessNamespace: pointer(27, boolean, "Whether the containers see each other's processes."),
  securityContext: pointer(
    14,
    podSecurityContext,
    "The user and privileges of all containers that set none themselves.",
  ),
  imagePullSecrets: omitEmpty(
    15,
    mapList(localObjectReference, "name"),
    "Secrets with which images are pulled: the service account's when none are listed.",
    refersTo("Secret", "name"),
  ),
  hostname: omitEmpty(16, string, "The Pod's host name."),
  subdomain: omitEmpty(17, string, "The domain below which the host name is."),
  affinity: pointer(18, affinity, "On which nodes, and near which other Pods, the Pod should be."),
  schedulerName: omitEmpty(19, string, "Who picks the node.", { default: "default-scheduler" }),
  tolerations: omitEmpty(22, atomicList(toleration), "Taints of nodes that the Pod puts up with."),
  hostAliases: omitEmpty(23, mapList(hostAlias, "ip"), "Lines for the containers' hosts file."),
  priorityClassName: omitEmpty(24, string, "How important the Pod is."),
  priority: pointer(25, int32, "How important the Pod is, as a number."),
  dnsConfig: pointer(26, podDNSConfig, "Further settings of name resolution."),
  readinessGates: omitEmpty(
    28,
    atomicList(podReadinessGate),
    "Conditions that must be True too before the Pod is ready.",
  ),
  runtimeClassName: pointer(29, string, "The RuntimeClass that runs the Pod."),
  enableServiceLinks: pointer(30, boolean, "Whether services are shown in environment variables.", { default: true }),
  preemptionPolicy: pointer(
    31,
    named(string, "v1.PreemptionPolicy"),
    "Whether less important Pods are moved out of its way.",
  ),
  overhead: omitEmpty(32, resourceList, "What running the Pod takes besides its containers."),
  topologySpreadConstraints: omitEmpty(
    33,
    mapList(topologySpreadConstraint, "topologyKey", "whenUnsatisfiable"),
    "How Pods of a group are spread over zones or nodes.",
  ),
  setHostnameAsFQDN: pointer(35, boolean, "Whether the host name is the fully qualified one."),
  os: pointer(36, podOS, "The operating system that the containers are for."),
  hostUsers: pointer(37, boolean, "Whether the Pod uses its node's user ids."),
  schedulingGates: omitEmpty(
    38,
    mapList(podSchedulingGate, "name"),
    "What must be taken away before a node is picked.",
  ),
  resourceClaims: omitEmpty(
    39,
    unionList(podResourceClaim, "name"),
    "Claims on devices that must be met before the Pod starts.",
    refersTo("ResourceClaim", "resourceClaimName"),
  ),
  resources: pointer(40, resourceRequirements, "What all containers together need, and may use at most."),
  hostnameOverride: pointer(41, string, "The whole host name that the Pod sees."),
  schedulingGroup: pointer(43, podSchedulingGroup, "The group of Pods that the Pod is scheduled with."),
  evictionResponders: omitEmpty(
    44,
    mapList(evictionResponder, "name"),
    "Who is asked, in order of priority, to end the Pod when it is evicted.",
  ),
});
