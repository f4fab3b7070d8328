import {
  atomicList,
  int64,
  keyedList,
  mapList,
  named,
  object,
  string,
  time,
} from "../../../machinery/schema/schema.ts";
import {
  nodeAllocatableResourceClaimStatus,
  podExtendedResourceClaimStatus,
  podResourceClaimStatus,
} from "./claim-status.ts";
import { resourceList, resourceRequirements } from "./container-resources.ts";
import { containerStatus } from "./container-status.ts";

const podCondition = object({
  goType: "v1.PodCondition",
  description: "What is known of one side of a Pod's state.",
  fields: {
    type: {
      number: 1,
      schema: named(string, "v1.PodConditionType"),
      presence: "always",
      isRequired: true,
      description: "The kind of the condition.",
    },
    observedGeneration: {
      number: 7,
      schema: int64,
      description: "The generation of the Pod that the condition is of.",
    },
    status: {
      number: 2,
      schema: named(string, "v1.ConditionStatus"),
      presence: "always",
      isRequired: true,
      description: "True, False or Unknown.",
    },
    lastProbeTime: { number: 3, schema: time, description: "When it was last looked at." },
    lastTransitionTime: { number: 4, schema: time, description: "When the status last changed." },
    reason: { number: 5, schema: string, description: "A word for machines on why." },
    message: { number: 6, schema: string, description: "A sentence for people on why." },
  },
});

const hostIP = object({
  goType: "v1.HostIP",
  description: "An IP address.",
  fields: {
    ip: { number: 1, schema: string, presence: "always", isRequired: true, description: "The address." },
  },
});

const podIP = object({
  goType: "v1.PodIP",
  description: "An IP address.",
  fields: {
    ip: { number: 1, schema: string, presence: "always", isRequired: true, description: "The address." },
  },
});

const volumeHealthCondition = object({
  goType: "v1.VolumeHealthCondition",
  description: "Something that is wrong with a volume.",
  fields: {
    status: {
      number: 1,
      schema: named(string, "v1.VolumeHealthStatusType"),
      presence: "always",
      isRequired: true,
      description: "The kind of fault.",
    },
    reason: { number: 2, schema: string, presence: "always", isRequired: true, description: "A word for machines." },
    message: { number: 3, schema: string, description: "A sentence for people." },
  },
});

const podVolumeHealth = object({
  goType: "v1.PodVolumeHealth",
  description: "The health of a volume.",
  fields: {
    name: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The volume's name in the Pod.",
    },
    healthConditions: {
      number: 2,
      schema: { ...mapList(volumeHealthCondition, "status"), mapKeys: ["status", "reason"] },
      description: "What is wrong with it.",
    },
    lastTransitionTime: { number: 3, schema: time, description: "When it last changed." },
  },
});

export const podStatus = object({
  goType: "v1.PodStatus",
  description: "What the node reports of a Pod.",
  fields: {
    observedGeneration: { number: 17, schema: int64, description: "The generation of the Pod that the status is of." },
    phase: {
      number: 1,
      schema: named(string, "v1.PodPhase"),
      description: "Pending, Running, Succeeded, Failed or Unknown.",
    },
    conditions: { number: 2, schema: mapList(podCondition, "type"), description: "The sides of the Pod's state." },
    message: { number: 3, schema: string, description: "A sentence for people on the phase." },
    reason: { number: 4, schema: string, description: "A word for machines on the phase." },
    nominatedNodeName: { number: 11, schema: string, description: "The node that is being made free for the Pod." },
    hostIP: { number: 5, schema: string, description: "The node's address." },
    hostIPs: {
      number: 16,
      schema: { ...atomicList(hostIP), patchMerge: { mergeKey: "ip" } },
      description: "All of the node's addresses.",
    },
    podIP: { number: 6, schema: string, description: "The Pod's address." },
    podIPs: { number: 12, schema: mapList(podIP, "ip"), description: "All of the Pod's addresses." },
    startTime: { number: 7, schema: time, presence: "pointer", description: "When the node took the Pod." },
    initContainerStatuses: {
      number: 10,
      schema: atomicList(containerStatus),
      description: "The state of each init container.",
    },
    containerStatuses: { number: 8, schema: atomicList(containerStatus), description: "The state of each container." },
    qosClass: {
      number: 9,
      schema: named(string, "v1.PodQOSClass"),
      description: "Guaranteed, Burstable or BestEffort.",
    },
    ephemeralContainerStatuses: {
      number: 13,
      schema: atomicList(containerStatus),
      description: "The state of each ephemeral container.",
    },
    resize: {
      number: 14,
      schema: named(string, "v1.PodResizeStatus"),
      description: "Deprecated: how far a change of resources has come.",
    },
    resourceClaimStatuses: {
      number: 15,
      schema: { ...mapList(podResourceClaimStatus, "name"), patchMerge: { mergeKey: "name", retainsKeys: true } },
      description: "The claims that were made for the Pod.",
    },
    extendedResourceClaimStatus: {
      number: 18,
      schema: podExtendedResourceClaimStatus,
      presence: "pointer",
      description: "The claim that was made for extended resources.",
    },
    allocatedResources: { number: 19, schema: resourceList, description: "What the node has set aside for the Pod." },
    resources: {
      number: 20,
      schema: resourceRequirements,
      presence: "pointer",
      description: "What the Pod was given, and may use at most.",
    },
    nodeAllocatableResourceClaimStatuses: {
      number: 21,
      schema: mapList(nodeAllocatableResourceClaimStatus, "resourceClaimName"),
      description: "What claims took of the node's own resources.",
    },
    volumeHealth: {
      number: 22,
      schema: keyedList(podVolumeHealth, "name"),
      description: "The health of the Pod's volumes.",
    },
  },
});
