import {
  atomicList,
  boolean,
  named,
  object,
  setOf,
  string,
  time,
  uniqueList,
} from "../../../machinery/schema/schema.ts";

const taint = object({
  goType: "v1.Taint",
  description: "Keeps Pods away that do not tolerate it.",
  fields: {
    key: { number: 1, schema: string, presence: "always", isRequired: true, description: "The taint's key." },
    value: { number: 2, schema: string, description: "The taint's value." },
    effect: {
      number: 3,
      schema: named(string, "v1.TaintEffect"),
      presence: "always",
      isRequired: true,
      description: "NoSchedule, PreferNoSchedule or NoExecute.",
    },
    timeAdded: { number: 4, schema: time, presence: "pointer", description: "When it was added." },
  },
});

const configMapNodeConfigSource = object({
  goType: "v1.ConfigMapNodeConfigSource",
  description: "Deprecated: a ConfigMap with a node's settings.",
  fields: {
    namespace: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The ConfigMap's namespace.",
    },
    name: { number: 2, schema: string, presence: "always", isRequired: true, description: "The ConfigMap's name." },
    uid: { number: 3, schema: named(string, "types.UID"), description: "The ConfigMap's uid." },
    resourceVersion: { number: 4, schema: string, description: "The ConfigMap's version." },
    kubeletConfigKey: {
      number: 5,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The key with the settings.",
    },
  },
});

export const nodeConfigSource = object({
  goType: "v1.NodeConfigSource",
  description: "Deprecated: where a node's settings came from.",
  fields: {
    configMap: { number: 2, schema: configMapNodeConfigSource, presence: "pointer", description: "The ConfigMap." },
  },
});

const nodePodPreemptionPolicy = object({
  goType: "v1.NodePodPreemptionPolicy",
  description: "Which Pods of a node may be moved out of the way of others.",
  fields: {
    disableResizePreemption: {
      number: 1,
      schema: uniqueList(string),
      description: "Resources whose growth must not end other Pods.",
    },
  },
});

export const nodeSpec = object({
  goType: "v1.NodeSpec",
  description: "What is wanted of a node.",
  fields: {
    podCIDR: { number: 1, schema: string, description: "The addresses for its Pods." },
    podCIDRs: { number: 7, schema: setOf(string), description: "All addresses for its Pods, one range a family." },
    providerID: { number: 3, schema: string, description: "The machine, as `provider://id`." },
    unschedulable: { number: 4, schema: boolean, description: "Whether new Pods are kept away." },
    taints: { number: 5, schema: atomicList(taint), description: "Keep Pods away that do not tolerate them." },
    configSource: {
      number: 6,
      schema: nodeConfigSource,
      presence: "pointer",
      description: "Deprecated: where its settings came from.",
    },
    externalID: { number: 2, schema: string, description: "Deprecated: no longer set." },
    podPreemptionPolicy: {
      number: 8,
      schema: nodePodPreemptionPolicy,
      presence: "pointer",
      description: "Which Pods may be moved out of the way of others.",
    },
  },
});
