import { podResource } from "../resources.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { isMirrorPod, mirrorAnnotations } from "./mirror-pods.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { dnsLabelFaults, validateDnsSubdomainName } from "../../../machinery/api/validation/name-validation.ts";
import { CompiledSchema } from "../../../machinery/registry/definition/compiled-schema.ts";
import { defineResource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition, UpdateContext } from "../../../machinery/registry/definition/resource-definition.ts";
import { withDefaultTolerations } from "./default-tolerations.ts";
import { evictionSubresource } from "./eviction.ts";
import { withPodCondition } from "./pod-condition.ts";
import { podColumns, podRowConditions } from "./pod-columns.ts";
import { podDefaults } from "./pod-defaults.ts";
import { podSchema } from "./schema/pod-schema.ts";
import type { Pod } from "./schema/pod-schema.ts";
import { qosClassOf } from "./qos-class.ts";
import { gated, isGated } from "./scheduling-gates.ts";
import { validateMirrorAnnotation, validateNewPod, validatePodStatus, validatePodUpdate } from "./pod-validation.ts";

export function pods(names: Names): ResourceDefinition<Pod> {
  const annotations = mirrorAnnotations(names);
  const schema = new CompiledSchema(podSchema);
  /** A stored Pod as this version would write it: earlier versions left out defaults, and kept quantities as they were sent. */
  const asWrittenNow = (stored: Pod): Pod => podDefaults(schema.decode(stored).value);
  const validateMirror = (next: Pod, { previous }: UpdateContext<Pod>): FieldError[] =>
    annotations.flatMap((mirrorAnnotation) => validateMirrorAnnotation(next, { previous, mirrorAnnotation }));
  return defineResource({
    ...podResource(names),
    shortNames: ["po"],
    categories: ["all"],
    answersDeletedObject: true,
    schema: podSchema,
    validateName: validateDnsSubdomainName,
    setDefaults: podDefaults,
    prepareForCreate: (pod, { now }) => newPod(pod, { names, now }),
    prepareForUpdate: (next, { previous }) => changedPod(next, { previous, names }),
    validate: (pod) => validateNewPod(pod, annotations),
    warningsOnCreate: ({ metadata, spec }) => [
      ...hostnameWarning(metadata.name ?? ""),
      ...((spec.nodeName ?? "") === "" ? [nothingRunsPods] : []),
    ],
    validateUpdate: (next, context) => [
      ...validatePodUpdate(next, asWrittenNow(context.previous)),
      ...validateMirror(next, context),
    ],
    gracePeriodSeconds,
    resetFields: [["status"]],
    // Every node may create mirror Pods in every namespace, and must not use up the quota of other objects there.
    quotaShare: 1 / 2,
    subresources: {
      eviction: evictionSubresource,
      status: {
        type: "update",
        prepareForUpdate: (next, { previous }) => ({
          ...withFixedMetadata(next, previous),
          spec: previous.spec,
          status: reportedStatus(next.status, previous.status),
        }),
        validateUpdate: (next, context) => [
          "metadata change",
          ...validateMirror(next, context),
          ...validatePodStatus(next, context.previous),
        ],
        // The StorageQuota bounds the status of mirror Pods too, because only their node decides that they exist.
        isBounded: (pod) => isMirrorPod(pod, names),
        resetFields: [["spec"], ["metadata", "deletionTimestamp"], ["metadata", "ownerReferences"]],
      },
    },
    selectableFields: {
      "spec.nodeName": ({ spec }) => spec.nodeName ?? "",
      "spec.restartPolicy": ({ spec }) => spec.restartPolicy ?? "",
      "spec.schedulerName": ({ spec }) => spec.schedulerName ?? "",
      "spec.serviceAccountName": ({ spec }) => spec.serviceAccountName ?? "",
      "spec.hostNetwork": ({ spec }) => String(spec.hostNetwork ?? false),
      "status.phase": ({ status }) => status.phase ?? "",
      "status.podIP": ({ status }) => status.podIP ?? "",
      // In upstream this field exists, but has no value.
      "status.podIPs": () => "",
      "status.nominatedNodeName": ({ status }) => status.nominatedNodeName ?? "",
    },
    columns: podColumns(names),
    rowConditions: podRowConditions,
  });
}

function hostnameWarning(name: string): string[] {
  const faults = dnsLabelFaults(name);
  const effect =
    "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended";
  return faults.length === 0 ? [] : [`metadata.name: ${effect}: [${faults.join(" ")}]`];
}

/** The warning for a Pod without a node, as `kubectl run` creates it: there is no scheduler either, so the Pod never runs. */
const nothingRunsPods =
  "nothing runs Pods here: this server keeps them as they are, for what is said of their nodes, accounts and tokens";

/**
 * Keeps the owners and the deletion time of a Pod in a write of its status (upstream: `podStatusStrategy.PrepareForUpdate`). Otherwise a
 * user who may write the status could have the Pod deleted with another object.
 */
function withFixedMetadata(next: Pod, { metadata: { ownerReferences, deletionTimestamp } }: Pod): Pod {
  const { ownerReferences: _owners, deletionTimestamp: _end, ...metadata } = next.metadata;
  return {
    ...next,
    metadata: {
      ...metadata,
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(ownerReferences !== undefined && { ownerReferences }),
    },
  };
}

/**
 * The reported status, where missing values of the server, and missing generations, are kept from the previous status (upstream:
 * `podStatusStrategy.PrepareForUpdate`).
 */
function reportedStatus(next: Pod["status"], previous: Pod["status"]): Pod["status"] {
  const { qosClass = "", observedGeneration = 0, conditions } = next;
  // Conditions of the same type are matched by their order.
  const before = Map.groupBy(previous.conditions ?? [], ({ type }) => type);
  const reported = conditions?.map((condition) => {
    const generation = before.get(condition.type)?.shift()?.observedGeneration;
    const isSaid = (condition.observedGeneration ?? 0) !== 0 || generation === undefined;
    return isSaid ? condition : { ...condition, observedGeneration: generation };
  });
  return {
    ...next,
    ...(qosClass === "" && previous.qosClass !== undefined && { qosClass: previous.qosClass }),
    ...(observedGeneration === 0 &&
      previous.observedGeneration !== undefined && { observedGeneration: previous.observedGeneration }),
    ...(reported !== undefined && { conditions: reported }),
  };
}

/**
 * The priorities of Pods without a class, and of the classes that every cluster has (upstream: `SystemPriorityClasses`). This server has no
 * PriorityClasses, so the priority of any other class is unknown.
 */
const priorities = new Map([
  ["", 0],
  ["system-cluster-critical", 2_000_000_000],
  ["system-node-critical", 2_000_001_000],
]);

/** A new Pod with the values that the server sets (upstream: `podStrategy.PrepareForCreate`, the admission plugin Priority). */
function newPod(pod: Pod, { names, now }: { readonly names: Names; readonly now: number }): Pod {
  const { priorityClassName = "", preemptionPolicy = "PreemptLowerPriority" } = pod.spec;
  const classPriority = priorities.get(priorityClassName);
  const spec = withDefaultTolerations(pod.spec, names);
  const status = { phase: "Pending", qosClass: qosClassOf(pod) };
  return {
    ...pod,
    metadata: { ...pod.metadata, generation: 1 },
    spec: classPriority === undefined ? spec : { priority: classPriority, ...spec, preemptionPolicy },
    status: isGated(pod) ? withPodCondition(status, { ...gated, now }) : status,
  };
}

/** A changed Pod, where values that the server has set are kept if the client leaves them out. */
function changedPod(next: Pod, { previous, names }: { readonly previous: Pod; readonly names: Names }): Pod {
  const { priority, preemptionPolicy } = previous.spec;
  const spec = {
    ...(priority !== undefined && { priority }),
    ...(preemptionPolicy !== undefined && { preemptionPolicy }),
    ...withDefaultTolerations(next.spec, names),
  };
  const { generation = 0 } = previous.metadata;
  const isNewGeneration = generation > 0 && !isSemanticallyEqual(spec, previous.spec);
  const metadata = isNewGeneration ? { ...next.metadata, generation: generation + 1 } : next.metadata;
  return { ...next, metadata, spec, status: previous.status };
}

/**
 * How long a deletion waits, in seconds. A Pod on a node is kept until the node has ended it; other Pods are deleted at once (upstream:
 * `podStrategy.CheckGracefulDelete`).
 */
function gracePeriodSeconds({ spec, status }: Pod, requested = spec.terminationGracePeriodSeconds ?? 0): number {
  const hasEnded = status.phase === "Failed" || status.phase === "Succeeded";
  if ((spec.nodeName ?? "") === "" || hasEnded) return 0;
  return requested < 0 ? 1 : requested;
}
