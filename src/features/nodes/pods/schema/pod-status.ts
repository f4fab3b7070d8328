import {
  atomicList,
  atomicListWithMergeKey,
  boolean,
  int32,
  int64,
  mapList,
  named,
  quantity,
  replacedByPatch,
  setList,
  string,
  time,
  unionList,
} from "../../../../machinery/schema/schema.ts";
import { conditionFields } from "../../../../machinery/schema/meta-schemas.ts";
import { omitEmpty, pointer, required, struct, always, nullable } from "../../../../machinery/schema/struct.ts";
import { resourceList, resourceRequirements } from "./container-resources.ts";

const podResourceClaimStatus = struct("v1.PodResourceClaimStatus", "A claim that was made for a Pod.", {
  name: required(1, string, "The claim's name in the Pod."),
  resourceClaimName: pointer(2, string, "The ResourceClaim that was made."),
});

const containerExtendedResourceRequest = struct(
  "v1.ContainerExtendedResourceRequest",
  "A container's extended resource and the request for it.",
  {
    containerName: required(1, string, "The container."),
    resourceName: required(2, string, "The extended resource."),
    requestName: required(3, string, "The request of the claim."),
  },
);

const podExtendedResourceClaimStatus = struct(
  "v1.PodExtendedResourceClaimStatus",
  "The claim that was made for extended resources.",
  {
    requestMappings: required(
      1,
      atomicList(containerExtendedResourceRequest),
      "Which request of the claim is for which container.",
    ),
    resourceClaimName: required(2, string, "The ResourceClaim that was made."),
  },
);

const nodeAllocatableMappedResources = struct(
  "v1.NodeAllocatableMappedResources",
  "What devices of a claim stand for.",
  {
    name: required(1, named(string, "v1.ResourceName"), "The resource."),
    quantity: nullable(2, quantity, "How much of it.", { isRequired: true }),
  },
);

const nodeAllocatableOverheadResources = struct(
  "v1.NodeAllocatableOverheadResources",
  "What devices of a claim take besides.",
  {
    name: required(1, named(string, "v1.ResourceName"), "The resource."),
    perPod: pointer(2, quantity, "How much for the Pod."),
    perContainer: pointer(3, quantity, "How much for each container."),
  },
);

const nodeAllocatableResourceClaimStatus = struct(
  "v1.NodeAllocatableResourceClaimStatus",
  "What a claim took of a node's own resources.",
  {
    resourceClaimName: required(1, string, "The ResourceClaim."),
    containers: omitEmpty(2, replacedByPatch(setList(string)), "The containers that use it."),
    mapping: omitEmpty(4, mapList(nodeAllocatableMappedResources, "name"), "What its devices stand for."),
    overhead: omitEmpty(5, mapList(nodeAllocatableOverheadResources, "name"), "What its devices take besides."),
  },
);

const containerStateWaiting = struct("v1.ContainerStateWaiting", "Why a program does not run yet.", {
  reason: omitEmpty(1, string, "The reason as one CamelCase word, for programs."),
  message: omitEmpty(2, string, "The reason as a sentence, for people."),
});

const containerStateRunning = struct("v1.ContainerStateRunning", "A running program.", {
  startedAt: always(1, time, "When it was started."),
});

const containerStateTerminated = struct("v1.ContainerStateTerminated", "How a program ended.", {
  exitCode: required(1, int32, "Its exit status."),
  signal: omitEmpty(2, int32, "The signal that ended it."),
  reason: omitEmpty(3, string, "The reason as one CamelCase word, for programs."),
  message: omitEmpty(4, string, "Its last message."),
  startedAt: always(5, time, "When it was started."),
  finishedAt: always(6, time, "When it ended."),
  containerID: omitEmpty(7, string, "The container, as `type://id`."),
});

const containerState = struct("v1.ContainerState", "Waiting, running or terminated.", {
  waiting: pointer(1, containerStateWaiting, "Why the program does not run yet."),
  running: pointer(2, containerStateRunning, "Set while the program runs."),
  terminated: pointer(3, containerStateTerminated, "How the program ended."),
});

const imageVolumeStatus = struct("v1.ImageVolumeStatus", "The status of a volume with the content of an image.", {
  imageRef: omitEmpty(1, string, "The image's digest.", { isRequired: true }),
});

const volumeStatus = struct("v1.VolumeStatus", "The status of a mounted volume.", {
  image: pointer(1, imageVolumeStatus, "The status of a volume with the content of an image."),
});

const volumeMountStatus = struct("v1.VolumeMountStatus", "A mount of a container.", {
  name: required(1, string, "The volume's name."),
  mountPath: required(2, string, "The path within the container."),
  readOnly: omitEmpty(3, boolean, "Whether it is read-only."),
  recursiveReadOnly: pointer(
    4,
    named(string, "v1.RecursiveReadOnlyMode"),
    "Whether submounts are read-only too: Disabled or Enabled.",
  ),
  volumeStatus: pointer(5, volumeStatus, "The status of the volume."),
});

const linuxContainerUser = struct(
  "v1.LinuxContainerUser",
  "The initial user of a container's first process, on Linux.",
  {
    uid: required(1, int64, "The user id."),
    gid: required(2, int64, "The group id."),
    supplementalGroups: omitEmpty(3, atomicList(int64), "Further group ids."),
  },
);

const containerUser = struct("v1.ContainerUser", "The initial user of a container's first process.", {
  linux: pointer(1, linuxContainerUser, "On Linux."),
});

const resourceHealth = struct("v1.ResourceHealth", "The health of a device.", {
  resourceID: required(1, named(string, "v1.ResourceID"), "The device."),
  health: omitEmpty(2, named(string, "v1.ResourceHealthStatus"), "Healthy, Unhealthy or Unknown."),
  message: pointer(6, string, "The reason as a sentence, for people."),
});

const resourceStatus = struct("v1.ResourceStatus", "The health of a container's devices of one kind.", {
  name: required(1, named(string, "v1.ResourceName"), "The resource."),
  resources: omitEmpty(2, replacedByPatch(mapList(resourceHealth, "resourceID")), "The health of each device."),
});

const containerStatus = struct("v1.ContainerStatus", "The state of one container.", {
  name: required(1, string, "The container's name."),
  state: always(2, containerState, "Its state now."),
  lastState: always(3, containerState, "Its previous state."),
  ready: required(4, boolean, "Whether it is ready."),
  restartCount: required(5, int32, "How often it was restarted."),
  image: required(6, string, "The image that runs."),
  imageID: required(7, string, "The image's digest."),
  containerID: omitEmpty(8, string, "The container, as `type://id`."),
  started: pointer(9, boolean, "Whether it has passed its startup probe."),
  allocatedResources: omitEmpty(10, resourceList, "What the node has set aside for it."),
  resources: pointer(11, resourceRequirements, "The resources that it got and may use."),
  volumeMounts: omitEmpty(12, mapList(volumeMountStatus, "mountPath"), "Its mounts."),
  user: pointer(13, containerUser, "The initial user of its first process."),
  allocatedResourcesStatus: omitEmpty(14, mapList(resourceStatus, "name"), "The health of its devices."),
  stopSignal: pointer(15, named(string, "v1.Signal"), "The signal that stops it."),
});

const { type, status, ...transition } = conditionFields("v1.PodConditionType");
const podCondition = struct("v1.PodCondition", "What is known of one side of a Pod's state.", {
  type,
  observedGeneration: omitEmpty(7, int64, "The generation of the Pod that the condition is of."),
  status,
  lastProbeTime: always(3, time, "When it was last looked at."),
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
  lastTransitionTime: always(3, time, "When it last changed."),
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
  volumeHealth: omitEmpty(22, replacedByPatch(mapList(podVolumeHealth, "name")), "The health of the Pod's volumes."),
});
