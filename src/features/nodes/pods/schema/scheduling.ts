import { atomicList, int32, int64, named, oneOf, string } from "../../../../machinery/schema/schema.ts";
import type { Infer } from "../../../../machinery/schema/schema.ts";
import { atomicStruct, omitEmpty, pointer, required, struct } from "../../../../machinery/schema/struct.ts";
import { taintEffects } from "../../nodes/node-schema.ts";
import { labelSelector } from "../../../../machinery/schema/label-selector-schema.ts";

const nodeSelectorRequirement = struct("v1.NodeSelectorRequirement", "A condition on a label or a field.", {
  key: required(1, string, "The label's or the field's name."),
  operator: required(2, named(string, "v1.NodeSelectorOperator"), "In, NotIn, Exists, DoesNotExist, Gt or Lt."),
  values: omitEmpty(3, atomicList(string), "What the operator compares with."),
});

const nodeSelectorTerm = atomicStruct("v1.NodeSelectorTerm", "Conditions on a node: all must be met.", {
  matchExpressions: omitEmpty(1, atomicList(nodeSelectorRequirement), "Conditions on its labels."),
  matchFields: omitEmpty(2, atomicList(nodeSelectorRequirement), "Conditions on its fields."),
});

const nodeSelector = atomicStruct("v1.NodeSelector", "A choice of nodes: one of the terms must be met.", {
  nodeSelectorTerms: required(1, atomicList(nodeSelectorTerm), "The terms."),
});

const preferredSchedulingTerm = struct(
  "v1.PreferredSchedulingTerm",
  "Conditions that make a node better than others.",
  {
    weight: required(1, int32, "How much better, from 1 to 100."),
    preference: required(2, nodeSelectorTerm, "The conditions."),
  },
);

const nodeAffinity = struct("v1.NodeAffinity", "The nodes that a Pod should be on.", {
  requiredDuringSchedulingIgnoredDuringExecution: pointer(
    1,
    nodeSelector,
    "What a node must meet when the Pod is scheduled.",
  ),
  preferredDuringSchedulingIgnoredDuringExecution: omitEmpty(
    2,
    atomicList(preferredSchedulingTerm),
    "What makes a node better than others.",
  ),
});

const podAffinityTerm = struct("v1.PodAffinityTerm", "A group of Pods, and what being near them means.", {
  labelSelector: pointer(1, labelSelector, "The labels of the Pods."),
  namespaces: omitEmpty(2, atomicList(string), "The namespaces of the Pods, its own by default."),
  topologyKey: required(3, string, "Nodes with the same value of this label are near each other."),
  namespaceSelector: pointer(4, labelSelector, "The labels of the Pods' namespaces."),
  matchLabelKeys: omitEmpty(5, atomicList(string), "Labels in which the Pods must be equal to this one."),
  mismatchLabelKeys: omitEmpty(6, atomicList(string), "Labels in which the Pods must differ from this one."),
});

const weightedPodAffinityTerm = struct(
  "v1.WeightedPodAffinityTerm",
  "A group of Pods, and how much being near them counts.",
  {
    weight: required(1, int32, "How much it counts, from 1 to 100."),
    podAffinityTerm: required(2, podAffinityTerm, "The group of Pods."),
  },
);

const podAffinityFields = {
  requiredDuringSchedulingIgnoredDuringExecution: omitEmpty(
    1,
    atomicList(podAffinityTerm),
    "What must be met when the Pod is scheduled.",
  ),
  preferredDuringSchedulingIgnoredDuringExecution: omitEmpty(
    2,
    atomicList(weightedPodAffinityTerm),
    "What makes a node better than others.",
  ),
};

const podAffinity = struct("v1.PodAffinity", "The Pods that a Pod should be near.", podAffinityFields);
const podAntiAffinity = struct("v1.PodAntiAffinity", "The Pods that a Pod should be away from.", podAffinityFields);

export const affinity = struct("v1.Affinity", "On which nodes, and near which other Pods, a Pod should be.", {
  nodeAffinity: pointer(1, nodeAffinity, "The nodes that it should be on."),
  podAffinity: pointer(2, podAffinity, "The Pods that it should be near."),
  podAntiAffinity: pointer(3, podAntiAffinity, "The Pods that it should be away from."),
});

export const topologySpreadConstraint = struct(
  "v1.TopologySpreadConstraint",
  "How Pods of a group are spread over zones or nodes.",
  {
    maxSkew: required(1, int32, "By how many Pods zones may differ."),
    topologyKey: required(2, string, "Nodes with the same value of this label are one zone."),
    whenUnsatisfiable: required(
      3,
      named(string, "v1.UnsatisfiableConstraintAction"),
      "DoNotSchedule or ScheduleAnyway.",
    ),
    labelSelector: pointer(4, labelSelector, "The labels of the group's Pods."),
    minDomains: pointer(5, int32, "The least number of zones."),
    nodeAffinityPolicy: pointer(
      6,
      named(string, "v1.NodeInclusionPolicy"),
      "Whether nodes that the Pod's affinity rules out count: Honor or Ignore.",
    ),
    nodeTaintsPolicy: pointer(
      7,
      named(string, "v1.NodeInclusionPolicy"),
      "Whether nodes with taints that the Pod does not tolerate count: Honor or Ignore.",
    ),
    matchLabelKeys: omitEmpty(8, atomicList(string), "Labels in which the group's Pods must be equal to this one."),
  },
);

export const toleration = struct("v1.Toleration", "A taint that a Pod puts up with.", {
  key: omitEmpty(1, string, "The taint's key; empty with operator Exists: all taints."),
  operator: omitEmpty(2, named(string, "v1.TolerationOperator"), "Exists or Equal."),
  value: omitEmpty(3, string, "The taint's value."),
  effect: omitEmpty(4, named(oneOf(taintEffects), "v1.TaintEffect"), "The taint's effect; empty: all effects."),
  tolerationSeconds: pointer(5, int64, "Seconds for which a NoExecute taint is put up with."),
});

export type Toleration = Infer<typeof toleration>;
