import {
  atomicList,
  boolean,
  int32,
  int64,
  mapList,
  named,
  atomicListWithMergeKey,
  string,
  time,
} from "../../../machinery/schema/schema.ts";
import { conditionFields } from "../../../machinery/schema/condition-schema.ts";
import { always, omitEmpty, pointer, required, struct } from "../../../machinery/schema/struct.ts";
import { resourceList } from "../pods/container-resources.ts";
import { nodeConfigSource } from "./node-spec.ts";

const { type, status, ...transition } = conditionFields(
  "v1.NodeConditionType",
  "The kind of the condition: Ready, MemoryPressure, ...",
);
const nodeCondition = struct("v1.NodeCondition", "What is known of one side of a node's state.", {
  type,
  status,
  lastHeartbeatTime: omitEmpty(3, time, "When the node last reported it."),
  ...transition,
});

const nodeAddress = struct("v1.NodeAddress", "An address of a node.", {
  type: required(
    1,
    named(string, "v1.NodeAddressType"),
    "Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.",
  ),
  address: required(2, string, "The address."),
});

const daemonEndpoint = struct("v1.DaemonEndpoint", "A port.", {
  Port: required(1, int32, "The port."),
});

const nodeDaemonEndpoints = struct("v1.NodeDaemonEndpoints", "Where a node's daemons listen.", {
  kubeletEndpoint: always(1, daemonEndpoint, "Where the node agent listens."),
});

const nodeSwapStatus = struct("v1.NodeSwapStatus", "A node's swap space.", {
  capacity: pointer(1, int64, "Its size in bytes."),
});

const nodeSystemInfo = struct("v1.NodeSystemInfo", "What a node is and runs.", {
  machineID: required(1, string, "The machine's id."),
  systemUUID: required(2, string, "The hardware's id."),
  bootID: required(3, string, "The id of the boot."),
  kernelVersion: required(4, string, "The kernel's version."),
  osImage: required(5, string, "The operating system, for people."),
  containerRuntimeVersion: required(6, string, "The container runtime and its version."),
  kubeletVersion: required(7, string, "The node agent's version."),
  kubeProxyVersion: required(8, string, "Deprecated."),
  operatingSystem: required(9, string, "The operating system."),
  architecture: required(10, string, "The processor's architecture."),
  swap: pointer(11, nodeSwapStatus, "The node's swap space."),
  runningInUserNamespace: pointer(12, boolean, "Whether the node agent runs in a user namespace."),
});

const containerImage = struct("v1.ContainerImage", "An image on a node.", {
  names: always(1, atomicList(string), "The names by which it is known."),
  sizeBytes: omitEmpty(2, int64, "Its size in bytes."),
});

const attachedVolume = struct("v1.AttachedVolume", "A volume that is attached to a node.", {
  name: required(1, named(string, "v1.UniqueVolumeName"), "The volume's unique name."),
  devicePath: required(2, string, "Where it is on the node."),
});

const nodeConfigStatus = struct("v1.NodeConfigStatus", "Deprecated: which settings a node uses.", {
  assigned: pointer(1, nodeConfigSource, "Those that it should use."),
  active: pointer(2, nodeConfigSource, "Those that it uses."),
  lastKnownGood: pointer(3, nodeConfigSource, "Those that it falls back to."),
  error: omitEmpty(4, string, "What is wrong with those that it should use."),
});

const nodeRuntimeHandlerFeatures = struct("v1.NodeRuntimeHandlerFeatures", "What a container runtime can do.", {
  recursiveReadOnlyMounts: pointer(1, boolean, "Mounts that can only be read, with all below them."),
  userNamespaces: pointer(2, boolean, "User namespaces, volumes included."),
});

const nodeRuntimeHandler = struct("v1.NodeRuntimeHandler", "What a container runtime can do.", {
  name: always(1, string, 'Its name; "" is the default one.'),
  features: pointer(2, nodeRuntimeHandlerFeatures, "What it can do."),
});

const nodeFeatures = struct("v1.NodeFeatures", "What a node agent and its runtime can do.", {
  supplementalGroupsPolicy: pointer(1, boolean, "The supplementalGroupsPolicy of Pods."),
});

export const nodeStatus = struct("v1.NodeStatus", "What the node agent reports.", {
  capacity: omitEmpty(1, resourceList, "All that the node has."),
  allocatable: omitEmpty(2, resourceList, "What of it is there for Pods."),
  phase: omitEmpty(3, named(string, "v1.NodePhase"), "Deprecated."),
  conditions: omitEmpty(4, mapList(nodeCondition, "type"), "The sides of the node's state."),
  // A node may have several addresses of a type, so that ownership takes the list as one.
  addresses: omitEmpty(5, atomicListWithMergeKey(nodeAddress, "type"), "Where the node can be reached."),
  daemonEndpoints: always(6, nodeDaemonEndpoints, "Where its daemons listen."),
  nodeInfo: always(7, nodeSystemInfo, "What the node is and runs."),
  images: omitEmpty(8, atomicList(containerImage), "The images that it has."),
  volumesInUse: omitEmpty(9, atomicList(named(string, "v1.UniqueVolumeName")), "The volumes that it uses."),
  volumesAttached: omitEmpty(10, atomicList(attachedVolume), "The volumes that are attached to it."),
  config: pointer(11, nodeConfigStatus, "Deprecated: which settings it uses."),
  runtimeHandlers: omitEmpty(12, atomicList(nodeRuntimeHandler), "What its container runtimes can do."),
  features: pointer(13, nodeFeatures, "What the node agent and its runtime can do."),
  declaredFeatures: omitEmpty(14, atomicList(string), "Features that the node agent names itself."),
});
