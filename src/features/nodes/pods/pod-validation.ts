import { NamedText } from "../../../machinery/api/text/format-value.ts";
import {
  duplicate,
  forbiddenField,
  invalidValue,
  invalidValues,
  required,
} from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import { qualifiedNameFaults } from "../../../machinery/api/validation/label-validation.ts";
import { dnsLabelFaults, dnsSubdomainFaults } from "../../../machinery/api/validation/name-validation.ts";
import type { Container, Pod } from "./schema/pod-schema.ts";
import { validatePodValues } from "./pod-values.ts";
import { isGated, validateGateChange, validateGatedChange } from "./scheduling-gates.ts";
import { validateTolerationChange } from "./toleration-validation.ts";
import { validateVolumes } from "./volume-validation.ts";

type PodCondition = NonNullable<Pod["status"]["conditions"]>[number];

/** Returns the faults of a new Pod. `mirrors` are the annotations that mark a mirror Pod (upstream: `ValidatePodCreate`). */
export function validateNewPod(pod: Pod, mirrors: readonly string[]): FieldError[] {
  const { ephemeralContainers = [], nodeName = "" } = pod.spec;
  return [
    ...mirrors.flatMap((annotation) => {
      const value = annotationOf(pod, annotation);
      const detail = "must set spec.nodeName if mirror pod annotation is set";
      return value === undefined || nodeName !== ""
        ? []
        : [invalidValue(`metadata.annotations[${annotation}]`, { value, detail })];
    }),
    ...validateVolumes(pod.spec.volumes),
    ...validatePod(pod),
    ...validatePodValues(pod),
    ...(ephemeralContainers.length === 0
      ? []
      : [forbiddenField("spec.ephemeralContainers", "cannot be set on create")]),
    ...(nodeName !== "" && isGated(pod)
      ? [forbiddenField("spec.nodeName", "cannot be set until all schedulingGates have been cleared")]
      : []),
  ];
}

/**
 * Returns the faults of an update's annotations. A Pod cannot become a mirror Pod, or stop being one, after its creation (upstream:
 * `ValidatePodSpecificAnnotationUpdates`).
 */
export function validateMirrorAnnotation(
  next: Pod,
  { previous, mirrorAnnotation }: { readonly previous: Pod; readonly mirrorAnnotation: string },
): FieldError[] {
  const before = annotationOf(previous, mirrorAnnotation);
  if (annotationOf(next, mirrorAnnotation) === before) return [];
  const detail =
    before === undefined ? "may not add mirror pod annotation" : "may not remove or update mirror pod annotation";
  return [forbiddenField(`metadata.annotations[${mirrorAnnotation}]`, detail)];
}

function annotationOf({ metadata: { annotations = {} } }: Pod, key: string): string | undefined {
  return Object.hasOwn(annotations, key) ? annotations[key] : undefined;
}

/** The faults of the fields that tokens, nodes and kubectl use. */
function validatePod({ spec }: Pod, previous?: Pod): FieldError[] {
  const { containers, serviceAccountName = "", nodeName = "" } = spec;
  return [
    ...((containers ?? []).length === 0 ? [required("spec.containers", "")] : []),
    ...validateContainers(spec, { list: "containers", previous }),
    ...validateContainers(spec, { list: "initContainers", previous }),
    ...validateSubdomain("spec.serviceAccountName", serviceAccountName),
    ...validateSubdomain("spec.nodeName", nodeName),
  ];
}

const validateSubdomain = (field: string, value: string): FieldError[] =>
  value === "" ? [] : invalidValues(field, { value, details: dnsSubdomainFaults(value) });

interface ContainerList {
  readonly list: "containers" | "initContainers";
  readonly previous: Pod | undefined;
}

function validateContainers(spec: Pod["spec"], { list, previous }: ContainerList): FieldError[] {
  // Checked only for new Pods: one that an earlier version stored could not be changed any more.
  const others = list === "initContainers" && previous === undefined ? (spec.containers ?? []) : [];
  const seen = new Set(others.map(({ name }) => name));
  return (spec[list] ?? []).flatMap(({ name, image }, index) => {
    const field = `spec.${list}[${index}]`;
    const faults =
      name === ""
        ? [required(`${field}.name`, "")]
        : invalidValues(`${field}.name`, { value: name, details: dnsLabelFaults(name) });
    if (name !== "" && seen.has(name)) faults.push(duplicate(`${field}.name`, name));
    seen.add(name);
    return [...faults, ...validateImage(`${field}.image`, { image, before: previous?.spec[list]?.[index]?.image })];
  });
}

/** The faults of an image. A stored image with blanks at its ends may stay, because otherwise its Pod could not be changed any more. */
function validateImage(
  field: string,
  { image = "", before }: { readonly image: string | undefined; readonly before: string | undefined },
): FieldError[] {
  if (image === "") return [required(field, "")];
  if (image === image.trim() || image === before) return [];
  return [invalidValue(field, { value: image, detail: "must not have leading or trailing whitespace" })];
}

/**
 * Returns the faults of an update. Tokens rely on an unchanged Pod: of its spec only images, the deadline, tolerations and scheduling gates
 * may change.
 */
export function validatePodUpdate(next: Pod, previous: Pod): FieldError[] {
  const faults = validatePod(next, previous);
  for (const list of ["containers", "initContainers"] as const) {
    if (next.spec[list]?.length !== previous.spec[list]?.length) {
      return [...faults, forbiddenField(`spec.${list}`, "pod updates may not add or remove containers")];
    }
    // Upstream validates the images twice.
    for (const [index, { image }] of (next.spec[list] ?? []).entries()) {
      const before = previous.spec[list]?.[index]?.image;
      faults.push(...validateImage(`spec.${list}[${index}].image`, { image, before }));
    }
  }
  faults.push(
    ...validateDeadline(next.spec.activeDeadlineSeconds, previous.spec.activeDeadlineSeconds),
    ...validateTolerationChange(next, previous),
    ...validateGateChange(next, previous),
    ...(isGated(previous) ? validateGatedChange(next, previous) : []),
  );
  const unchangeable = isGated(previous) ? unchangeableOfGated : unchangeableOf;
  if (isSemanticallyEqual(unchangeable(next.spec), unchangeable(previous.spec))) return faults;
  const detail =
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
  return [...faults, forbiddenField("spec", detail)];
}

/** The faults of a changed deadline, which can only become shorter (upstream: `ValidatePodUpdate`). */
function validateDeadline(next: number | undefined, previous: number | undefined): FieldError[] {
  const fault = (detail: string): FieldError[] => [
    invalidValue("spec.activeDeadlineSeconds", { value: next ?? null, detail }),
  ];
  if (next === previous) return [];
  if (next === undefined) return fault("must not update from a positive integer to nil value");
  if (next < 1 || next > 2 ** 31 - 1) return fault("must be between 1 and 2147483647, inclusive");
  return previous !== undefined && next > previous ? fault("must be less than or equal to previous value") : [];
}

/**
 * Returns the faults of a changed status (upstream: `ValidatePodStatusUpdate`). A node cannot be nominated for a Pod that is already bound
 * to one, and the quality of service class cannot change once it is set.
 */
export function validatePodStatus({ status }: Pod, { spec, status: before }: Pod): FieldError[] {
  const { conditions = [], nominatedNodeName: node = "", observedGeneration, qosClass = "" } = status;
  const stored = new Map(before.conditions?.map((condition) => [condition.type, condition]));
  const field = "status.nominatedNodeName";
  const isNominated = node !== "" && node !== before.nominatedNodeName;
  const isBound = (spec.nodeName ?? "") !== "";
  return [
    ...conditions.flatMap((condition, index) =>
      isSemanticallyEqual(stored.get(condition.type), condition)
        ? []
        : validateCondition(`status.conditions[${index}]`, condition),
    ),
    ...(isNominated ? validateSubdomain(field, node) : []),
    ...(isNominated && isBound
      ? [forbiddenField(field, "may not be set on pods that are already bound to a node")]
      : []),
    ...(observedGeneration === before.observedGeneration
      ? []
      : validateGeneration("status.observedGeneration", observedGeneration)),
    ...((before.qosClass ?? qosClass) === qosClass
      ? []
      : [invalidValue("status.qosClass", { value: new NamedText(qosClass), detail: "field is immutable" })]),
  ];
}

const validateCondition = (field: string, { observedGeneration, type }: PodCondition): FieldError[] => [
  ...validateGeneration(`${field}.observedGeneration`, observedGeneration),
  ...invalidValues(`${field}.Type`, { value: type, details: qualifiedNameFaults(type) }),
];

const validateGeneration = (field: string, value = 0): FieldError[] =>
  value < 0 ? [invalidValue(field, { value, detail: "must be a non-negative integer" })] : [];

function unchangeableOf(spec: Pod["spec"]): unknown {
  const { activeDeadlineSeconds: _deadline, tolerations: _tolerations, schedulingGates: _gates, ...rest } = spec;
  return {
    ...rest,
    containers: (rest.containers ?? []).map(withoutImage),
    initContainers: (rest.initContainers ?? []).map(withoutImage),
  };
}

function unchangeableOfGated({
  nodeSelector: _selector,
  affinity: { nodeAffinity: _affinity, ...affinity } = {},
  ...spec
}: Pod["spec"]): unknown {
  return unchangeableOf({ ...spec, affinity });
}

function withoutImage({ image: _image, ...rest }: Container): unknown {
  return rest;
}
