import { typeMetaFields } from "../schema/meta-schemas.ts";
import { objectMeta } from "../schema/object-meta-schema.ts";
import {
  any,
  atomicList,
  boolean,
  int32,
  int64,
  mapList,
  named,
  object,
  setOf,
  string,
  time,
} from "../schema/schema.ts";
import type { Infer, ScalarSchema } from "../schema/schema.ts";
import { resourceList } from "./pod-schema.ts";

const always = (number: number, description: string, schema: ScalarSchema<string> = string) =>
  ({ number, schema, presence: "always", isRequired: true, description }) as const;

const taint = object({
  goType: "v1.Taint",
  description: "Keeps Pods away that do not tolerate it.",
  fields: {
    key: always(1, "The taint's key."),
    value: { number: 2, schema: string, description: "The taint's value." },
    effect: always(3, "NoSchedule, PreferNoSchedule or NoExecute.", named(string, "v1.TaintEffect")),
    timeAdded: { number: 4, schema: time, presence: "pointer", description: "When it was added." },
  },
});

const nodeCondition = object({
  goType: "v1.NodeCondition",
  description: "What is known of one side of a node's state.",
  fields: {
    type: always(1, "The kind of the condition: Ready, MemoryPressure, ...", named(string, "v1.NodeConditionType")),
    status: always(2, "True, False or Unknown.", named(string, "v1.ConditionStatus")),
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
    type: always(
      1,
      "Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.",
      named(string, "v1.NodeAddressType"),
    ),
    address: always(2, "The address."),
  },
});

const nodeSystemInfo = object({
  goType: "v1.NodeSystemInfo",
  description: "What a node is and runs.",
  isOpen: true,
  fields: {
    machineID: always(1, "The machine's id."),
    systemUUID: always(2, "The hardware's id."),
    bootID: always(3, "The id of the boot."),
    kernelVersion: always(4, "The kernel's version."),
    osImage: always(5, "The operating system, for people."),
    containerRuntimeVersion: always(6, "The container runtime and its version."),
    kubeletVersion: always(7, "The node agent's version."),
    kubeProxyVersion: always(8, "Deprecated."),
    operatingSystem: always(9, "The operating system."),
    architecture: always(10, "The processor's architecture."),
  },
});

const nodeSpec = object({
  goType: "v1.NodeSpec",
  description: "What is wanted of a node.",
  isOpen: true,
  fields: {
    podCIDR: { number: 1, schema: string, description: "The addresses for its Pods." },
    podCIDRs: { number: 7, schema: setOf(string), description: "All addresses for its Pods, one range a family." },
    providerID: { number: 3, schema: string, description: "The machine, as `provider://id`." },
    unschedulable: { number: 4, schema: boolean, description: "Whether new Pods are kept away." },
    taints: { number: 5, schema: atomicList(taint), description: "Keep Pods away that do not tolerate them." },
  },
});

const daemonEndpoints = object({
  goType: "v1.NodeDaemonEndpoints",
  description: "Where a node's daemons listen.",
  fields: {
    kubeletEndpoint: {
      number: 1,
      presence: "always",
      description: "Where the node agent listens.",
      schema: object({
        goType: "v1.DaemonEndpoint",
        description: "A port.",
        fields: { Port: { number: 1, schema: int32, presence: "always", isRequired: true, description: "The port." } },
      }),
    },
  },
});

const containerImage = object({
  goType: "v1.ContainerImage",
  description: "An image on a node.",
  fields: {
    names: { number: 1, schema: atomicList(string), description: "The names by which it is known." },
    sizeBytes: { number: 2, schema: int64, description: "Its size in bytes." },
  },
});

const nodeStatus = object({
  goType: "v1.NodeStatus",
  description: "What the node agent reports. Fields that are not listed here are kept as they are.",
  isOpen: true,
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
      schema: daemonEndpoints,
      presence: "always",
      description: "Where its daemons listen.",
    },
    nodeInfo: { number: 7, schema: nodeSystemInfo, presence: "always", description: "What the node is and runs." },
    images: { number: 8, schema: atomicList(containerImage), description: "The images that it has." },
    volumesInUse: { number: 9, schema: atomicList(string), description: "The volumes that it uses." },
    volumesAttached: { number: 10, schema: atomicList(any), description: "The volumes that are attached to it." },
  },
});

export const nodeSchema = object({
  goType: "v1.Node",
  description:
    "A machine, kept by its node agent. Node identities, and the tokens and certificates bound to them, refer to it.",
  fields: {
    ...typeMetaFields,
    metadata: { number: 1, schema: objectMeta, presence: "always", description: "Standard object metadata." },
    spec: { number: 2, schema: nodeSpec, presence: "always", description: "What is wanted of the node." },
    status: { number: 3, schema: nodeStatus, presence: "always", description: "What the node agent reports." },
  },
});

export type Node = Infer<typeof nodeSchema>;
