import {
  atomicList,
  boolean,
  int32,
  int64,
  mapList,
  mapOf,
  named,
  object,
  string,
} from "../../../machinery/schema/schema.ts";
import { localObjectReference } from "../../../machinery/schema/object-references.ts";
import { container, ephemeralContainer } from "./container.ts";
import { resourceList, resourceRequirements } from "./container-resources.ts";
import { affinity, toleration, topologySpreadConstraint } from "./scheduling.ts";
import { podSecurityContext } from "./security-context.ts";
import { volume } from "./volume.ts";

const podSchedulingGroup = object({
  goType: "v1.PodSchedulingGroup",
  description: "The group of Pods that a Pod is scheduled with.",
  fields: {
    podGroupName: {
      number: 1,
      schema: string,
      presence: "pointer",
      description: "The PodGroup in the Pod's namespace.",
    },
  },
});

const evictionResponder = object({
  goType: "v1.EvictionResponder",
  description: "Somebody who can end a Pod in an orderly way.",
  isAtomic: true,
  fields: {
    name: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "Who it is, as a qualified name.",
    },
    priority: {
      number: 2,
      schema: int32,
      presence: "nullable",
      description: "Those with higher numbers are asked first.",
    },
  },
});

const podReadinessGate = object({
  goType: "v1.PodReadinessGate",
  description: "A condition that must be True too before a Pod is ready.",
  fields: {
    conditionType: {
      number: 1,
      schema: named(string, "v1.PodConditionType"),
      presence: "always",
      isRequired: true,
      description: "The type of the condition.",
    },
  },
});

const podSchedulingGate = object({
  goType: "v1.PodSchedulingGate",
  description: "Keeps a Pod from being scheduled while it is there.",
  fields: {
    name: { number: 1, schema: string, presence: "always", isRequired: true, description: "The gate's name." },
  },
});

const podOS = object({
  goType: "v1.PodOS",
  description: "The operating system of a Pod's containers.",
  fields: {
    name: {
      number: 1,
      schema: named(string, "v1.OSName"),
      presence: "always",
      isRequired: true,
      description: "linux or windows.",
    },
  },
});

const podResourceClaim = object({
  goType: "v1.PodResourceClaim",
  description: "A claim on devices that a Pod's containers can refer to.",
  fields: {
    name: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The name by which containers refer to it.",
    },
    resourceClaimName: {
      number: 3,
      schema: string,
      presence: "pointer",
      description: "The ResourceClaim in the Pod's namespace.",
    },
    resourceClaimTemplateName: {
      number: 4,
      refersTo: { kind: "ResourceClaimTemplate" },
      schema: string,
      presence: "pointer",
      description: "The template from which a claim is made for the Pod.",
    },
  },
});

const hostAlias = object({
  goType: "v1.HostAlias",
  description: "A line of a hosts file.",
  fields: {
    ip: { number: 1, schema: string, presence: "always", isRequired: true, description: "The address." },
    hostnames: { number: 2, schema: atomicList(string), description: "The names for it." },
  },
});

const podDNSConfigOption = object({
  goType: "v1.PodDNSConfigOption",
  description: "One option of a resolver.",
  fields: {
    name: { number: 1, schema: string, description: "The option's name." },
    value: { number: 2, schema: string, presence: "pointer", description: "The option's value, when it has one." },
  },
});

const podDNSConfig = object({
  goType: "v1.PodDNSConfig",
  description: "Settings of name resolution that are added to those of the dnsPolicy.",
  fields: {
    nameservers: { number: 1, schema: atomicList(string), description: "Addresses of name servers." },
    searches: { number: 2, schema: atomicList(string), description: "Domains to search for short names." },
    options: { number: 3, schema: atomicList(podDNSConfigOption), description: "Options of the resolver." },
  },
});

export const podSpec = object({
  goType: "v1.PodSpec",
  description: "What a Pod runs, where, and as whom.",
  fields: {
    volumes: {
      number: 1,
      schema: { ...mapList(volume, "name"), patchMerge: { mergeKey: "name", retainsKeys: true } },
      description: "What the containers can mount.",
    },
    initContainers: {
      number: 20,
      schema: mapList(container, "name"),
      description: "Programs that run before the others, one after another.",
    },
    containers: {
      number: 2,
      schema: mapList(container, "name"),
      presence: "always",
      isRequired: true,
      description: "The programs of the Pod, one at least.",
    },
    ephemeralContainers: {
      number: 34,
      schema: mapList(ephemeralContainer, "name"),
      description: "Containers that were added to a running Pod, to look into it.",
    },
    restartPolicy: {
      number: 3,
      schema: named(string, "v1.RestartPolicy"),
      default: "Always",
      description: "Whether programs that end are restarted: Always, OnFailure or Never.",
    },
    terminationGracePeriodSeconds: {
      number: 4,
      schema: int64,
      presence: "pointer",
      default: 30,
      description: "Seconds that the Pod has to end when it is deleted.",
    },
    activeDeadlineSeconds: {
      number: 5,
      schema: int64,
      presence: "pointer",
      description: "Seconds after which the Pod is ended.",
    },
    dnsPolicy: {
      number: 6,
      schema: named(string, "v1.DNSPolicy"),
      default: "ClusterFirst",
      description: "How names are resolved.",
    },
    nodeSelector: {
      number: 7,
      schema: { ...mapOf(string), isAtomic: true },
      description: "Labels that the node must have.",
    },
    serviceAccountName: {
      number: 8,
      refersTo: { kind: "ServiceAccount" },
      schema: string,
      description: "The service account that the Pod runs as: `default` when none is named.",
    },
    serviceAccount: {
      number: 9,
      refersTo: { kind: "ServiceAccount" },
      schema: string,
      description: "Deprecated: the same as serviceAccountName.",
    },
    automountServiceAccountToken: {
      number: 21,
      schema: boolean,
      presence: "pointer",
      description: "Whether the Pod gets an API token mounted.",
    },
    nodeName: { number: 10, schema: string, description: "The node that the Pod is on. It cannot be changed." },
    hostNetwork: { number: 11, schema: boolean, description: "Whether the Pod uses its node's network." },
    hostPID: { number: 12, schema: boolean, description: "Whether the Pod sees its node's processes." },
    hostIPC: { number: 13, schema: boolean, description: "Whether the Pod shares its node's IPC namespace." },
    shareProcessNamespace: {
      number: 27,
      schema: boolean,
      presence: "pointer",
      description: "Whether the containers see each other's processes.",
    },
    securityContext: {
      number: 14,
      schema: podSecurityContext,
      presence: "pointer",
      description: "As whom and with which rights all containers run, where they say nothing themselves.",
    },
    imagePullSecrets: {
      number: 15,
      refersTo: { kind: "Secret", nameIn: "name" },
      schema: mapList(localObjectReference, "name"),
      description: "Secrets with which images are pulled: the service account's when none are listed.",
    },
    hostname: { number: 16, schema: string, description: "The Pod's host name." },
    subdomain: { number: 17, schema: string, description: "The domain below which the host name is." },
    affinity: {
      number: 18,
      schema: affinity,
      presence: "pointer",
      description: "On which nodes, and near which other Pods, the Pod should be.",
    },
    schedulerName: { number: 19, schema: string, default: "default-scheduler", description: "Who picks the node." },
    tolerations: {
      number: 22,
      schema: atomicList(toleration),
      description: "Taints of nodes that the Pod puts up with.",
    },
    hostAliases: { number: 23, schema: mapList(hostAlias, "ip"), description: "Lines for the containers' hosts file." },
    priorityClassName: { number: 24, schema: string, description: "How important the Pod is." },
    priority: { number: 25, schema: int32, presence: "pointer", description: "How important the Pod is, as a number." },
    dnsConfig: {
      number: 26,
      schema: podDNSConfig,
      presence: "pointer",
      description: "Further settings of name resolution.",
    },
    readinessGates: {
      number: 28,
      schema: atomicList(podReadinessGate),
      description: "Conditions that must be True too before the Pod is ready.",
    },
    runtimeClassName: {
      number: 29,
      schema: string,
      presence: "pointer",
      description: "The RuntimeClass that runs the Pod.",
    },
    enableServiceLinks: {
      number: 30,
      schema: boolean,
      presence: "pointer",
      default: true,
      description: "Whether services are shown in environment variables.",
    },
    preemptionPolicy: {
      number: 31,
      schema: named(string, "v1.PreemptionPolicy"),
      presence: "pointer",
      description: "Whether less important Pods are moved out of its way.",
    },
    overhead: { number: 32, schema: resourceList, description: "What running the Pod takes besides its containers." },
    topologySpreadConstraints: {
      number: 33,
      schema: { ...mapList(topologySpreadConstraint, "topologyKey"), mapKeys: ["topologyKey", "whenUnsatisfiable"] },
      description: "How Pods of a group are spread over zones or nodes.",
    },
    setHostnameAsFQDN: {
      number: 35,
      schema: boolean,
      presence: "pointer",
      description: "Whether the host name is the fully qualified one.",
    },
    os: {
      number: 36,
      schema: podOS,
      presence: "pointer",
      description: "The operating system that the containers are for.",
    },
    hostUsers: {
      number: 37,
      schema: boolean,
      presence: "pointer",
      description: "Whether the Pod uses its node's user ids.",
    },
    schedulingGates: {
      number: 38,
      schema: mapList(podSchedulingGate, "name"),
      description: "What must be taken away before a node is picked.",
    },
    resourceClaims: {
      number: 39,
      refersTo: { kind: "ResourceClaim", nameIn: "resourceClaimName" },
      schema: { ...mapList(podResourceClaim, "name"), patchMerge: { mergeKey: "name", retainsKeys: true } },
      description: "Claims on devices that must be met before the Pod starts.",
    },
    resources: {
      number: 40,
      schema: resourceRequirements,
      presence: "pointer",
      description: "What all containers together need, and may use at most.",
    },
    hostnameOverride: {
      number: 41,
      schema: string,
      presence: "pointer",
      description: "The whole host name that the Pod sees.",
    },
    schedulingGroup: {
      number: 43,
      schema: podSchedulingGroup,
      presence: "pointer",
      description: "The group of Pods that the Pod is scheduled with.",
    },
    evictionResponders: {
      number: 44,
      schema: mapList(evictionResponder, "name"),
      description: "Who is asked, in order of priority, to end the Pod when it is evicted.",
    },
  },
});
