import {
  atomicList,
  boolean,
  int32,
  int64,
  mapList,
  named,
  object,
  string,
  time,
} from "../../../machinery/schema/schema.ts";
import { resourceList } from "../pods/container-resources.ts";
import { nodeConfigSource } from "./node-spec.ts";

const nodeCondition = object({
  goType: "v1.NodeCondition",
  description: "What is known of one side of a node's state.",
  fields: {
    type: {
      number: 1,
      schema: named(string, "v1.NodeConditionType"),
      presence: "always",
      isRequired: true,
      description: "The kind of the condition: Ready, MemoryPressure, ...",
    },
    status: {
      number: 2,
      schema: named(string, "v1.ConditionStatus"),
      presence: "always",
      isRequired: true,
      description: "True, False or Unknown.",
    },
    lastHeartbeatTime: { number: 3, schema: time, description: "When the node last reported it." },
    lastTransitionTime: { number: 4, schema: time, description: "When the status last changed." },
    reason: { number: 5, schema: string, description: "A word for machines on why." },
    message: { number: 6, schema: string, description: "A sentence for people on why." },
  },
});

const nodeAddress = object({
  goType: "v1.NodeAddress",
  description: "An address of a node.",
  fields: {
    type: {
      number: 1,
      schema: named(string, "v1.NodeAddressType"),
      presence: "always",
      isRequired: true,
      description: "Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.",
    },
    address: { number: 2, schema: string, presence: "always", isRequired: true, description: "The address." },
  },
});

const daemonEndpoint = object({
  goType: "v1.DaemonEndpoint",
  description: "A port.",
  fields: {
    Port: { number: 1, schema: int32, presence: "always", isRequired: true, description: "The port." },
  },
});

const nodeDaemonEndpoints = object({
  goType: "v1.NodeDaemonEndpoints",
  description: "Where a node's daemons listen.",
  fields: {
    kubeletEndpoint: {
      number: 1,
      schema: daemonEndpoint,
      presence: "always",
      description: "Where the node agent listens.",
    },
  },
});

const nodeSwapStatus = object({
  goType: "v1.NodeSwapStatus",
  description: "A node's swap space.",
  fields: {
    capacity: { number: 1, schema: int64, presence: "pointer", description: "Its size in bytes." },
  },
});

const nodeSystemInfo = object({
  goType: "v1.NodeSystemInfo",
  description: "What a node is and runs.",
  fields: {
    machineID: { number: 1, schema: string, presence: "always", isRequired: true, description: "The machine's id." },
    systemUUID: { number: 2, schema: string, presence: "always", isRequired: true, description: "The hardware's id." },
    bootID: { number: 3, schema: string, presence: "always", isRequired: true, description: "The id of the boot." },
    kernelVersion: {
      number: 4,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The kernel's version.",
    },
    osImage: {
      number: 5,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The operating system, for people.",
    },
    containerRuntimeVersion: {
      number: 6,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The container runtime and its version.",
    },
    kubeletVersion: {
      number: 7,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The node agent's version.",
    },
    kubeProxyVersion: { number: 8, schema: string, presence: "always", isRequired: true, description: "Deprecated." },
    operatingSystem: {
      number: 9,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The operating system.",
    },
    architecture: {
      number: 10,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The processor's architecture.",
    },
    swap: { number: 11, schema: nodeSwapStatus, presence: "pointer", description: "The node's swap space." },
    runningInUserNamespace: {
      number: 12,
      schema: boolean,
      presence: "pointer",
      description: "Whether the node agent runs in a user namespace.",
    },
  },
});

const containerImage = object({
  goType: "v1.ContainerImage",
  description: "An image on a node.",
  fields: {
    names: {
      number: 1,
      schema: atomicList(string),
      presence: "always",
      description: "The names by which it is known.",
    },
    sizeBytes: { number: 2, schema: int64, description: "Its size in bytes." },
  },
});

const attachedVolume = object({
  goType: "v1.AttachedVolume",
  description: "A volume that is attached to a node.",
  fields: {
    name: {
      number: 1,
      schema: named(string, "v1.UniqueVolumeName"),
      presence: "always",
      isRequired: true,
      description: "The volume's unique name.",
    },
    devicePath: {
      number: 2,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "Where it is on the node.",
    },
  },
});

const nodeConfigStatus = object({
  goType: "v1.NodeConfigStatus",
  description: "Deprecated: which settings a node uses.",
  fields: {
    assigned: { number: 1, schema: nodeConfigSource, presence: "pointer", description: "Those that it should use." },
    active: { number: 2, schema: nodeConfigSource, presence: "pointer", description: "Those that it uses." },
    lastKnownGood: {
      number: 3,
      schema: nodeConfigSource,
      presence: "pointer",
      description: "Those that it falls back to.",
    },
    error: { number: 4, schema: string, description: "What is wrong with those that it should use." },
  },
});

const nodeRuntimeHandlerFeatures = object({
  goType: "v1.NodeRuntimeHandlerFeatures",
  description: "What a container runtime can do.",
  fields: {
    recursiveReadOnlyMounts: {
      number: 1,
      schema: boolean,
      presence: "pointer",
      description: "Mounts that can only be read, with all below them.",
    },
    userNamespaces: {
      number: 2,
      schema: boolean,
      presence: "pointer",
      description: "User namespaces, volumes included.",
    },
  },
});

const nodeRuntimeHandler = object({
  goType: "v1.NodeRuntimeHandler",
  description: "What a container runtime can do.",
  fields: {
    name: { number: 1, schema: string, presence: "always", description: 'Its name; "" is the default one.' },
    features: { number: 2, schema: nodeRuntimeHandlerFeatures, presence: "pointer", description: "What it can do." },
  },
});

const nodeFeatures = object({
  goType: "v1.NodeFeatures",
  description: "What a node agent and its runtime can do.",
  fields: {
    supplementalGroupsPolicy: {
      number: 1,
      schema: boolean,
      presence: "pointer",
      description: "The supplementalGroupsPolicy of Pods.",
    },
  },
});

export const nodeStatus = object({
  goType: "v1.NodeStatus",
  description: "What the node agent reports.",
  fields: {
    capacity: { number: 1, schema: resourceList, description: "All that the node has." },
    allocatable: { number: 2, schema: resourceList, description: "What of it is there for Pods." },
    phase: { number: 3, schema: named(string, "v1.NodePhase"), description: "Deprecated." },
    conditions: { number: 4, schema: mapList(nodeCondition, "type"), description: "The sides of the node's state." },
    addresses: {
      number: 5,
      // A node may have several addresses of a type, so that ownership takes the list as one.
      schema: { ...atomicList(nodeAddress), patchMerge: { mergeKey: "type" } },
      description: "Where the node can be reached.",
    },
    daemonEndpoints: {
      number: 6,
      schema: nodeDaemonEndpoints,
      presence: "always",
      description: "Where its daemons listen.",
    },
    nodeInfo: { number: 7, schema: nodeSystemInfo, presence: "always", description: "What the node is and runs." },
    images: { number: 8, schema: atomicList(containerImage), description: "The images that it has." },
    volumesInUse: {
      number: 9,
      schema: atomicList(named(string, "v1.UniqueVolumeName")),
      description: "The volumes that it uses.",
    },
    volumesAttached: {
      number: 10,
      schema: atomicList(attachedVolume),
      description: "The volumes that are attached to it.",
    },
    config: {
      number: 11,
      schema: nodeConfigStatus,
      presence: "pointer",
      description: "Deprecated: which settings it uses.",
    },
    runtimeHandlers: {
      number: 12,
      schema: atomicList(nodeRuntimeHandler),
      description: "What its container runtimes can do.",
    },
    features: {
      number: 13,
      schema: nodeFeatures,
      presence: "pointer",
      description: "What the node agent and its runtime can do.",
    },
    declaredFeatures: {
      number: 14,
      schema: atomicList(string),
      description: "Features that the node agent names itself.",
    },
  },
});
