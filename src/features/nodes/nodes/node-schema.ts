import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import {
  atomicList,
  atomicListWithMergeKey,
  boolean,
  int32,
  int64,
  mapList,
  named,
  oneOf,
  replacedByPatch,
  setList,
  string,
  time,
} from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { conditionFields, objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { always, omitEmpty, pointer, required, struct } from "../../../machinery/schema/struct.ts";
import { resourceList } from "../pods/schema/container-resources.ts";

/** The effects of taints, in upstream's order. */
export const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

const taint = struct("v1.Taint", "Keeps Pods away that do not tolerate it.", {
  key: required(1, string, "The taint's key."),
  value: omitEmpty(2, string, "The taint's value."),
  effect: required(3, named(oneOf(taintEffects), "v1.TaintEffect"), "NoSchedule, PreferNoSchedule or NoExecute."),
  timeAdded: pointer(4, time, "When it was added."),
});

const configMapNodeConfigSource = struct(
  "v1.ConfigMapNodeConfigSource",
  "Deprecated: a ConfigMap with a node's settings.",
  {
    namespace: required(1, string, "The ConfigMap's namespace."),
    name: required(2, string, "The ConfigMap's name."),
    uid: omitEmpty(3, named(string, "types.UID"), "The ConfigMap's uid."),
    resourceVersion: omitEmpty(4, string, "The ConfigMap's version."),
    kubeletConfigKey: required(5, string, "The key with the settings."),
  },
);

const nodeConfigSource = struct("v1.NodeConfigSource", "Deprecated: where a node's settings came from.", {
  configMap: pointer(2, configMapNodeConfigSource, "The ConfigMap."),
});

const nodePodPreemptionPolicy = struct("v1.NodePodPreemptionPolicy", "Which Pods of a node may be preempted.", {
  disableResizePreemption: omitEmpty(
    1,
    replacedByPatch(setList(string)),
    "Resources whose resize must not preempt other Pods.",
  ),
});

const nodeSpec = struct("v1.NodeSpec", "The desired state of a node.", {
  podCIDR: omitEmpty(1, string, "The address range for its Pods."),
  podCIDRs: omitEmpty(7, setList(string), "The address ranges for its Pods, one for each IP family."),
  providerID: omitEmpty(3, string, "The machine, as `provider://id`."),
  unschedulable: omitEmpty(4, boolean, "Whether new Pods must not be scheduled on it."),
  taints: omitEmpty(5, atomicList(taint), "Keep Pods away that do not tolerate them."),
  configSource: pointer(6, nodeConfigSource, "Deprecated: where its settings came from."),
  externalID: omitEmpty(2, string, "Deprecated: no longer set."),
  podPreemptionPolicy: pointer(8, nodePodPreemptionPolicy, "Which Pods may be preempted."),
});

const { type, status, ...transition } = conditionFields(
  "v1.NodeConditionType",
  "The kind of the condition: Ready, MemoryPressure, ...",
);
const nodeCondition = struct("v1.NodeCondition", "A condition of a node.", {
  type,
  status,
  lastHeartbeatTime: always(3, time, "When the node last reported it."),
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

const nodeSystemInfo = struct("v1.NodeSystemInfo", "The machine and software of a node.", {
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
  error: omitEmpty(4, string, "The error in the assigned settings."),
});

const nodeRuntimeHandlerFeatures = struct("v1.NodeRuntimeHandlerFeatures", "The features of a container runtime.", {
  recursiveReadOnlyMounts: pointer(1, boolean, "Whether it supports recursive read-only mounts."),
  userNamespaces: pointer(2, boolean, "Whether it supports user namespaces, including volumes."),
});

const nodeRuntimeHandler = struct("v1.NodeRuntimeHandler", "The features of a container runtime.", {
  name: always(1, string, 'Its name; "" is the default one.'),
  features: pointer(2, nodeRuntimeHandlerFeatures, "Its features."),
});

const nodeFeatures = struct("v1.NodeFeatures", "The features of a node agent and its runtime.", {
  supplementalGroupsPolicy: pointer(1, boolean, "Whether it supports the supplementalGroupsPolicy of Pods."),
});

const nodeStatus = struct("v1.NodeStatus", "What the node agent reports.", {
  capacity: omitEmpty(1, resourceList, "The total resources of the node."),
  allocatable: omitEmpty(2, resourceList, "The resources that are available to Pods."),
  phase: omitEmpty(3, named(string, "v1.NodePhase"), "Deprecated."),
  conditions: omitEmpty(4, mapList(nodeCondition, "type"), "The conditions of the node."),
  // A node may have several addresses of a type, so field ownership treats the list as a whole.
  addresses: omitEmpty(5, atomicListWithMergeKey(nodeAddress, "type"), "Where the node can be reached."),
  daemonEndpoints: always(6, nodeDaemonEndpoints, "Where its daemons listen."),
  nodeInfo: always(7, nodeSystemInfo, "The machine and software of the node."),
  images: omitEmpty(8, atomicList(containerImage), "The images that it has."),
  volumesInUse: omitEmpty(9, atomicList(named(string, "v1.UniqueVolumeName")), "The volumes that it uses."),
  volumesAttached: omitEmpty(10, atomicList(attachedVolume), "The volumes that are attached to it."),
  config: pointer(11, nodeConfigStatus, "Deprecated: which settings it uses."),
  runtimeHandlers: omitEmpty(12, atomicList(nodeRuntimeHandler), "The container runtimes and their features."),
  features: pointer(13, nodeFeatures, "The features of the node agent and its runtime."),
  declaredFeatures: omitEmpty(14, atomicList(string), "Features that the node agent declares."),
});

export const nodeSchema = struct(
  "v1.Node",
  "A machine, registered by its node agent. Node identities, and the tokens and certificates bound to them, refer to it.",
  {
    ...objectFields,
    spec: always(2, nodeSpec, "The desired state of the node."),
    status: always(3, nodeStatus, "What the node agent reports."),
  },
);

export type Node = Infer<typeof nodeSchema>;

// The path determines the type: the registry decodes objects with the schema of their resource.
export const asNode = (object: ApiObject): Node => object as Node;

export type Taint = NonNullable<Node["spec"]["taints"]>[number];
export type NodeCondition = NonNullable<Node["status"]["conditions"]>[number];

/** The condition `Ready` that a node reports. Undefined: it has not reported its state yet. */
export const readyConditionOf = ({ status }: Node): NodeCondition | undefined =>
  (status.conditions ?? []).find(({ type }) => type === "Ready");
