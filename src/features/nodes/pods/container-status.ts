import {
  atomicList,
  boolean,
  int32,
  int64,
  keyedList,
  mapList,
  named,
  string,
  time,
} from "../../../machinery/schema/schema.ts";
import { always, omitEmpty, pointer, required, struct } from "../../../machinery/schema/struct.ts";
import { resourceList, resourceRequirements } from "./container-resources.ts";

const containerStateWaiting = struct("v1.ContainerStateWaiting", "Why a program does not run yet.", {
  reason: omitEmpty(1, string, "The reason as one CamelCase word, for programs."),
  message: omitEmpty(2, string, "The reason as a sentence, for people."),
});

const containerStateRunning = struct("v1.ContainerStateRunning", "A running program.", {
  startedAt: omitEmpty(1, time, "When it was started."),
});

const containerStateTerminated = struct("v1.ContainerStateTerminated", "How a program ended.", {
  exitCode: required(1, int32, "Its exit status."),
  signal: omitEmpty(2, int32, "The signal that ended it."),
  reason: omitEmpty(3, string, "The reason as one CamelCase word, for programs."),
  message: omitEmpty(4, string, "Its last message."),
  startedAt: omitEmpty(5, time, "When it was started."),
  finishedAt: omitEmpty(6, time, "When it ended."),
  containerID: omitEmpty(7, string, "The container, as `type://id`."),
});

const containerState = struct("v1.ContainerState", "Waiting, running or terminated.", {
  waiting: pointer(1, containerStateWaiting, "Why the program does not run yet."),
  running: pointer(2, containerStateRunning, "Set while the program runs."),
  terminated: pointer(3, containerStateTerminated, "How the program ended."),
});

const imageVolumeStatus = struct("v1.ImageVolumeStatus", "The status of a volume with the content of an image.", {
  imageRef: omitEmpty(1, string, "The image's digest."),
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
  resources: omitEmpty(2, keyedList(resourceHealth, "resourceID"), "The health of each device."),
});

export const containerStatus = struct("v1.ContainerStatus", "The state of one container.", {
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
