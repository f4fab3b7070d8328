import { atomicList, int32, int64, named, object, string } from "../../../machinery/schema/schema.ts";
import { labelSelector } from "../../../machinery/schema/label-selector-schema.ts";

const nodeSelectorRequirement = object({
  goType: "v1.NodeSelectorRequirement",
  description: "A condition on a label or a field.",
  fields: {
    key: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The label's or the field's name.",
    },
    operator: {
      number: 2,
      schema: named(string, "v1.NodeSelectorOperator"),
      presence: "always",
      isRequired: true,
      description: "In, NotIn, Exists, DoesNotExist, Gt or Lt.",
    },
    values: { number: 3, schema: atomicList(string), description: "What the operator compares with." },
  },
});

const nodeSelectorTerm = object({
  goType: "v1.NodeSelectorTerm",
  description: "Conditions on a node: all must be met.",
  isAtomic: true,
  fields: {
    matchExpressions: {
      number: 1,
      schema: atomicList(nodeSelectorRequirement),
      description: "Conditions on its labels.",
    },
    matchFields: { number: 2, schema: atomicList(nodeSelectorRequirement), description: "Conditions on its fields." },
  },
});

const nodeSelector = object({
  goType: "v1.NodeSelector",
  description: "A choice of nodes: one of the terms must be met.",
  isAtomic: true,
  fields: {
    nodeSelectorTerms: {
      number: 1,
      schema: atomicList(nodeSelectorTerm),
      presence: "always",
      isRequired: true,
      description: "The terms.",
    },
  },
});

const preferredSchedulingTerm = object({
  goType: "v1.PreferredSchedulingTerm",
  description: "Conditions that make a node better than others.",
  fields: {
    weight: {
      number: 1,
      schema: int32,
      presence: "always",
      isRequired: true,
      description: "How much better, from 1 to 100.",
    },
    preference: {
      number: 2,
      schema: nodeSelectorTerm,
      presence: "always",
      isRequired: true,
      description: "The conditions.",
    },
  },
});

const nodeAffinity = object({
  goType: "v1.NodeAffinity",
  description: "The nodes that a Pod should be on.",
  fields: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      number: 1,
      schema: nodeSelector,
      presence: "pointer",
      description: "What a node must meet when the Pod is scheduled.",
    },
    preferredDuringSchedulingIgnoredDuringExecution: {
      number: 2,
      schema: atomicList(preferredSchedulingTerm),
      description: "What makes a node better than others.",
    },
  },
});

const podAffinityTerm = object({
  goType: "v1.PodAffinityTerm",
  description: "A group of Pods, and what being near them means.",
  fields: {
    labelSelector: { number: 1, schema: labelSelector, presence: "pointer", description: "The labels of the Pods." },
    namespaces: {
      number: 2,
      schema: atomicList(string),
      description: "The namespaces of the Pods, its own by default.",
    },
    topologyKey: {
      number: 3,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "Nodes with the same value of this label are near each other.",
    },
    namespaceSelector: {
      number: 4,
      schema: labelSelector,
      presence: "pointer",
      description: "The labels of the Pods' namespaces.",
    },
    matchLabelKeys: {
      number: 5,
      schema: atomicList(string),
      description: "Labels in which the Pods must be equal to this one.",
    },
    mismatchLabelKeys: {
      number: 6,
      schema: atomicList(string),
      description: "Labels in which the Pods must differ from this one.",
    },
  },
});

const weightedPodAffinityTerm = object({
  goType: "v1.WeightedPodAffinityTerm",
  description: "A group of Pods, and how much being near them counts.",
  fields: {
    weight: {
      number: 1,
      schema: int32,
      presence: "always",
      isRequired: true,
      description: "How much it counts, from 1 to 100.",
    },
    podAffinityTerm: {
      number: 2,
      schema: podAffinityTerm,
      presence: "always",
      isRequired: true,
      description: "The group of Pods.",
    },
  },
});

const podAffinity = object({
  goType: "v1.PodAffinity",
  description: "The Pods that a Pod should be near.",
  fields: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      number: 1,
      schema: atomicList(podAffinityTerm),
      description: "What must be met when the Pod is scheduled.",
    },
    preferredDuringSchedulingIgnoredDuringExecution: {
      number: 2,
      schema: atomicList(weightedPodAffinityTerm),
      description: "What makes a node better than others.",
    },
  },
});

const podAntiAffinity = object({
  goType: "v1.PodAntiAffinity",
  description: "The Pods that a Pod should be away from.",
  fields: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      number: 1,
      schema: atomicList(podAffinityTerm),
      description: "What must be met when the Pod is scheduled.",
    },
    preferredDuringSchedulingIgnoredDuringExecution: {
      number: 2,
      schema: atomicList(weightedPodAffinityTerm),
      description: "What makes a node better than others.",
    },
  },
});

export const affinity = object({
  goType: "v1.Affinity",
  description: "On which nodes, and near which other Pods, a Pod should be.",
  fields: {
    nodeAffinity: {
      number: 1,
      schema: nodeAffinity,
      presence: "pointer",
      description: "The nodes that it should be on.",
    },
    podAffinity: {
      number: 2,
      schema: podAffinity,
      presence: "pointer",
      description: "The Pods that it should be near.",
    },
    podAntiAffinity: {
      number: 3,
      schema: podAntiAffinity,
      presence: "pointer",
      description: "The Pods that it should be away from.",
    },
  },
});

export const topologySpreadConstraint = object({
  goType: "v1.TopologySpreadConstraint",
  description: "How Pods of a group are spread over zones or nodes.",
  fields: {
    maxSkew: {
      number: 1,
      schema: int32,
      presence: "always",
      isRequired: true,
      description: "By how many Pods zones may differ.",
    },
    topologyKey: {
      number: 2,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "Nodes with the same value of this label are one zone.",
    },
    whenUnsatisfiable: {
      number: 3,
      schema: named(string, "v1.UnsatisfiableConstraintAction"),
      presence: "always",
      isRequired: true,
      description: "DoNotSchedule or ScheduleAnyway.",
    },
    labelSelector: {
      number: 4,
      schema: labelSelector,
      presence: "pointer",
      description: "The labels of the group's Pods.",
    },
    minDomains: { number: 5, schema: int32, presence: "pointer", description: "The least number of zones." },
    nodeAffinityPolicy: {
      number: 6,
      schema: named(string, "v1.NodeInclusionPolicy"),
      presence: "pointer",
      description: "Whether nodes that the Pod's affinity rules out count: Honor or Ignore.",
    },
    nodeTaintsPolicy: {
      number: 7,
      schema: named(string, "v1.NodeInclusionPolicy"),
      presence: "pointer",
      description: "Whether nodes with taints that the Pod does not tolerate count: Honor or Ignore.",
    },
    matchLabelKeys: {
      number: 8,
      schema: atomicList(string),
      description: "Labels in which the group's Pods must be equal to this one.",
    },
  },
});

export const toleration = object({
  goType: "v1.Toleration",
  description: "A taint that a Pod puts up with.",
  fields: {
    key: { number: 1, schema: string, description: "The taint's key; empty with operator Exists: all taints." },
    operator: { number: 2, schema: named(string, "v1.TolerationOperator"), description: "Exists, Equal, Lt or Gt." },
    value: { number: 3, schema: string, description: "The taint's value." },
    effect: {
      number: 4,
      schema: named(string, "v1.TaintEffect"),
      description: "The taint's effect; empty: all effects.",
    },
    tolerationSeconds: {
      number: 5,
      schema: int64,
      presence: "pointer",
      description: "Seconds for which a NoExecute taint is put up with.",
    },
  },
});
