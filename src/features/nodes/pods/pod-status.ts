import {
  atomicList,
  int64,
  keyedList,
  mapList,
  named,
  atomicListWithMergeKey,
  string,
  time,
  unionList,
} from "../../../machinery/schema/schema.ts";
import { conditionFields } from "../../../machinery/schema/condition-schema.ts";
import { omitEmpty, pointer, required, struct } from "../../../machinery/schema/struct.ts";
import {
  nodeAllocatableResourceClaimStatus,
  podExtendedResourceClaimStatus,
  podResourceClaimStatus,
} from "./claim-status.ts";
import { resourceList, resourceRequirements } from "./container-resources.ts";
import { containerStatus } from "./container-status.ts";

const { type, status, ...transition } = conditionFields("v1.PodConditionType");
const podCondition = struct("v1.PodCondition", "What is known of one side of a Pod's state.", {
  type,
  observedGeneration: omitEmpty(7, int64, "The generation of the Pod that the condition is of."),
  status,
  lastProbeTime: omitEmpty(3, time, "When it was last looked at."),
  ...transition,
});

const hostIP = struct("v1.HostIP", "An IP address.", {
  ip: required(1, string, "The address."),
});

const podIP = struct("v1.PodIP", "An IP address.", {
  ip: required(1, string, "The address."),
});

const volumeHealthCondition = struct("v1.VolumeHealthCondition", "Something that is wrong with a volume.", {
  status: required(1, named(string, "v1.VolumeHealthStatusType"), "The kind of fault."),
  reason: required(2, string, "The reason as one CamelCase word, for programs."),
  message: omitEmpty(3, string, "The reason as a sentence, for people."),
});

const podVolumeHealth = struct("v1.PodVolumeHealth", "The health of a volume.", {
  name: required(1, string, "The volume's name in the Pod."),
  healthConditions: omitEmpty(2, mapList(volumeHealthCondition, "status", "reason"), "What is wrong with it."),
  lastTransitionTime: omitEmpty(3, time, "When it last changed."),
});

export const podStatus = struct("v1.PodStatus", "What the node reports of a Pod.", {
  observedGeneration: omitEmpty(17, int64, "The generation of the Pod that the status is of."),
  phase: omitEmpty(1, named(string, "v1.PodPhase"), "Pending, Running, Succeeded, Failed or Unknown."),
  conditions: omitEmpty(2, mapList(podCondition, "type"), "The sides of the Pod's state."),
  message: omitEmpty(3, string, "A sentence for people on the phase."),
  reason: omitEmpty(4, string, "The reason for the phase as one CamelCase word, for programs."),
  nominatedNodeName: omitEmpty(11, string, "The node that is being made free for the Pod."),
  hostIP: omitEmpty(5, string, "The node's address."),
  hostIPs: omitEmpty(16, atomicListWithMergeKey(hostIP, "ip"), "All of the node's addresses."),
  podIP: omitEmpty(6, string, "The Pod's address."),
  podIPs: omitEmpty(12, mapList(podIP, "ip"), "All of the Pod's addresses."),
  startTime: pointer(7, time, "When the node took the Pod."),
  initContainerStatuses: omitEmpty(10, atomicList(containerStatus), "The state of each init container."),
  containerStatuses: omitEmpty(8, atomicList(containerStatus), "The state of each container."),
  qosClass: omitEmpty(9, named(string, "v1.PodQOSClass"), "Guaranteed, Burstable or BestEffort."),
  ephemeralContainerStatuses: omitEmpty(13, atomicList(containerStatus), "The state of each ephemeral container."),
  resize: omitEmpty(14, named(string, "v1.PodResizeStatus"), "Deprecated: how far a change of resources has come."),
  resourceClaimStatuses: omitEmpty(
    15,
    unionList(podResourceClaimStatus, "name"),
    "The claims that were made for the Pod.",
  ),
  extendedResourceClaimStatus: pointer(
    18,
    podExtendedResourceClaimStatus,
    "The claim that was made for extended resources.",
  ),
  allocatedResources: omitEmpty(19, resourceList, "What the node has set aside for the Pod."),
  resources: pointer(20, resourceRequirements, "What the Pod was given, and may use at most."),
  nodeAllocatableResourceClaimStatuses: omitEmpty(
    21,
    mapList(nodeAllocatableResourceClaimStatus, "resourceClaimName"),
    "What claims took of the node's own resources.",
  ),
  volumeHealth: omitEmpty(22, keyedList(podVolumeHealth, "name"), "The health of the Pod's volumes."),
});
