import {
  atomicList,
  boolean,
  int32,
  int64,
  keyedList,
  mapList,
  named,
  object,
  string,
  time,
} from "../../../machinery/schema/schema.ts";
import { resourceList, resourceRequirements } from "./container-resources.ts";

const containerStateWaiting = object({
  goType: "v1.ContainerStateWaiting",
  description: "Why a program does not run yet.",
  fields: {
    reason: { number: 1, schema: string, description: "A word for machines." },
    message: { number: 2, schema: string, description: "A sentence for people." },
  },
});

const containerStateRunning = object({
  goType: "v1.ContainerStateRunning",
  description: "Since when a program runs.",
  fields: {
    startedAt: { number: 1, schema: time, description: "When it was started." },
  },
});

const containerStateTerminated = object({
  goType: "v1.ContainerStateTerminated",
  description: "How a program ended.",
  fields: {
    exitCode: { number: 1, schema: int32, presence: "always", isRequired: true, description: "Its exit status." },
    signal: { number: 2, schema: int32, description: "The signal that ended it." },
    reason: { number: 3, schema: string, description: "A word for machines on why." },
    message: { number: 4, schema: string, description: "Its last message." },
    startedAt: { number: 5, schema: time, description: "When it was started." },
    finishedAt: { number: 6, schema: time, description: "When it ended." },
    containerID: { number: 7, schema: string, description: "The container, as `type://id`." },
  },
});

const containerState = object({
  goType: "v1.ContainerState",
  description: "Waiting, running or terminated.",
  fields: {
    waiting: {
      number: 1,
      schema: containerStateWaiting,
      presence: "pointer",
      description: "Why the program does not run yet.",
    },
    running: {
      number: 2,
      schema: containerStateRunning,
      presence: "pointer",
      description: "Since when the program runs.",
    },
    terminated: {
      number: 3,
      schema: containerStateTerminated,
      presence: "pointer",
      description: "How the program ended.",
    },
  },
});

const imageVolumeStatus = object({
  goType: "v1.ImageVolumeStatus",
  description: "What is known of a volume with the content of an image.",
  fields: {
    imageRef: { number: 1, schema: string, description: "The image's digest." },
  },
});

const volumeStatus = object({
  goType: "v1.VolumeStatus",
  description: "What is known of a mounted volume.",
  fields: {
    image: {
      number: 1,
      schema: imageVolumeStatus,
      presence: "pointer",
      description: "Of a volume with the content of an image.",
    },
  },
});

const volumeMountStatus = object({
  goType: "v1.VolumeMountStatus",
  description: "A mount of a container.",
  fields: {
    name: { number: 1, schema: string, presence: "always", isRequired: true, description: "The volume's name." },
    mountPath: {
      number: 2,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The path within the container.",
    },
    readOnly: { number: 3, schema: boolean, description: "Whether it can only be read." },
    recursiveReadOnly: {
      number: 4,
      schema: named(string, "v1.RecursiveReadOnlyMode"),
      presence: "pointer",
      description: "Whether mounts below it can only be read too: Disabled or Enabled.",
    },
    volumeStatus: { number: 5, schema: volumeStatus, presence: "pointer", description: "More on the volume." },
  },
});

const linuxContainerUser = object({
  goType: "v1.LinuxContainerUser",
  description: "The user that a container's first process began as, on Linux.",
  fields: {
    uid: { number: 1, schema: int64, presence: "always", isRequired: true, description: "The user id." },
    gid: { number: 2, schema: int64, presence: "always", isRequired: true, description: "The group id." },
    supplementalGroups: { number: 3, schema: atomicList(int64), description: "Further group ids." },
  },
});

const containerUser = object({
  goType: "v1.ContainerUser",
  description: "The user that a container's first process began as.",
  fields: {
    linux: { number: 1, schema: linuxContainerUser, presence: "pointer", description: "On Linux." },
  },
});

const resourceHealth = object({
  goType: "v1.ResourceHealth",
  description: "The health of a device.",
  fields: {
    resourceID: {
      number: 1,
      schema: named(string, "v1.ResourceID"),
      presence: "always",
      isRequired: true,
      description: "The device.",
    },
    health: {
      number: 2,
      schema: named(string, "v1.ResourceHealthStatus"),
      description: "Healthy, Unhealthy or Unknown.",
    },
    message: { number: 6, schema: string, presence: "pointer", description: "A sentence for people." },
  },
});

const resourceStatus = object({
  goType: "v1.ResourceStatus",
  description: "The health of a container's devices of one kind.",
  fields: {
    name: {
      number: 1,
      schema: named(string, "v1.ResourceName"),
      presence: "always",
      isRequired: true,
      description: "The resource.",
    },
    resources: {
      number: 2,
      schema: keyedList(resourceHealth, "resourceID"),
      description: "The health of each device.",
    },
  },
});

export const containerStatus = object({
  goType: "v1.ContainerStatus",
  description: "The state of one container.",
  fields: {
    name: { number: 1, schema: string, presence: "always", isRequired: true, description: "The container's name." },
    state: { number: 2, schema: containerState, presence: "always", description: "Its state now." },
    lastState: { number: 3, schema: containerState, presence: "always", description: "How it ended the last time." },
    ready: { number: 4, schema: boolean, presence: "always", isRequired: true, description: "Whether it is ready." },
    restartCount: {
      number: 5,
      schema: int32,
      presence: "always",
      isRequired: true,
      description: "How often it was restarted.",
    },
    image: { number: 6, schema: string, presence: "always", isRequired: true, description: "The image that runs." },
    imageID: { number: 7, schema: string, presence: "always", isRequired: true, description: "The image's digest." },
    containerID: { number: 8, schema: string, description: "The container, as `type://id`." },
    started: {
      number: 9,
      schema: boolean,
      presence: "pointer",
      description: "Whether it has passed its startup probe.",
    },
    allocatedResources: { number: 10, schema: resourceList, description: "What the node has set aside for it." },
    resources: {
      number: 11,
      schema: resourceRequirements,
      presence: "pointer",
      description: "What it was given, and may use at most.",
    },
    volumeMounts: { number: 12, schema: mapList(volumeMountStatus, "mountPath"), description: "Its mounts." },
    user: {
      number: 13,
      schema: containerUser,
      presence: "pointer",
      description: "The user that its first process began as.",
    },
    allocatedResourcesStatus: {
      number: 14,
      schema: mapList(resourceStatus, "name"),
      description: "The health of its devices.",
    },
    stopSignal: {
      number: 15,
      schema: named(string, "v1.Signal"),
      presence: "pointer",
      description: "The signal that stops it.",
    },
  },
});
