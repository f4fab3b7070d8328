import { atomicList, boolean, named, setOf, string, time, uniqueList } from "../../../machinery/schema/schema.ts";
import { omitEmpty, pointer, required, struct } from "../../../machinery/schema/struct.ts";

const taint = struct("v1.Taint", "Keeps Pods away that do not tolerate it.", {
  key: required(1, string, "The taint's key."),
  value: omitEmpty(2, string, "The taint's value."),
  effect: required(3, named(string, "v1.TaintEffect"), "NoSchedule, PreferNoSchedule or NoExecute."),
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

export const nodeConfigSource = struct("v1.NodeConfigSource", "Deprecated: where a node's settings came from.", {
  configMap: pointer(2, configMapNodeConfigSource, "The ConfigMap."),
});

const nodePodPreemptionPolicy = struct("v1.NodePodPreemptionPolicy", "Which Pods of a node may be preempted.", {
  disableResizePreemption: omitEmpty(1, uniqueList(string), "Resources whose resize must not preempt other Pods."),
});

export const nodeSpec = struct("v1.NodeSpec", "The desired state of a node.", {
  podCIDR: omitEmpty(1, string, "The address range for its Pods."),
  podCIDRs: omitEmpty(7, setOf(string), "The address ranges for its Pods, one for each IP family."),
  providerID: omitEmpty(3, string, "The machine, as `provider://id`."),
  unschedulable: omitEmpty(4, boolean, "Whether new Pods must not be scheduled on it."),
  taints: omitEmpty(5, atomicList(taint), "Keep Pods away that do not tolerate them."),
  configSource: pointer(6, nodeConfigSource, "Deprecated: where its settings came from."),
  externalID: omitEmpty(2, string, "Deprecated: no longer set."),
  podPreemptionPolicy: pointer(8, nodePodPreemptionPolicy, "Which Pods may be preempted."),
});
