import {
  invalidValue,
  invalidValues,
  required,
  validateChoice,
} from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { validateLabels } from "../../../machinery/api/validation/label-validation.ts";
import { dnsLabelFaults } from "../../../machinery/api/validation/name-validation.ts";
import type { Container, Pod } from "./schema/pod-schema.ts";
import { validateSchedulingGates } from "./scheduling-gates.ts";
import { validateTolerations } from "./toleration-validation.ts";

/**
 * Returns the faults of a new Pod's values that are not among upstream's known values, and of numbers out of range. A stored Pod is not
 * validated again, because it could not be changed any more.
 */
export function validatePodValues(pod: Pod): FieldError[] {
  const { spec } = pod;
  const { containers, initContainers = [], restartPolicy, dnsPolicy, securityContext, activeDeadlineSeconds } = spec;
  return [
    ...validateContainers(containers ?? [], "spec.containers"),
    ...validateContainers(initContainers, "spec.initContainers"),
    ...validateChoice("spec.restartPolicy", { value: restartPolicy, supported: ["Always", "OnFailure", "Never"] }),
    ...validateChoice("spec.dnsPolicy", {
      value: dnsPolicy,
      supported: ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
    }),
    ...validateLabels(spec.nodeSelector, "spec.nodeSelector"),
    ...(securityContext === undefined ? [] : validatePodSecurity(securityContext)),
    ...between("spec.activeDeadlineSeconds", { value: activeDeadlineSeconds, ...largeNumbers, minimum: 1 }),
    ...validateSchedulingGates(pod),
    ...validateLabel("spec.hostname", spec.hostname),
    ...validateLabel("spec.subdomain", spec.subdomain),
    ...validateTolerations(spec.tolerations),
  ];
}

type PodSecurity = NonNullable<Pod["spec"]["securityContext"]>;

/** The range of user ids, group ids and seconds. */
const largeNumbers = { minimum: 0, maximum: 2 ** 31 - 1 };
const ports = { minimum: 1, maximum: 65_535 };

function validatePodSecurity(security: PodSecurity): FieldError[] {
  const field = "spec.securityContext";
  const { runAsUser, runAsGroup, fsGroup, supplementalGroups = [] } = security;
  return [
    ...between(`${field}.fsGroup`, { value: fsGroup, ...largeNumbers }),
    ...between(`${field}.runAsUser`, { value: runAsUser, ...largeNumbers }),
    ...between(`${field}.runAsGroup`, { value: runAsGroup, ...largeNumbers }),
    ...supplementalGroups.flatMap((value, index) =>
      between(`${field}.supplementalGroups[${index}]`, { value, ...largeNumbers }),
    ),
    ...validateChoice(`${field}.fsGroupChangePolicy`, {
      value: security.fsGroupChangePolicy,
      supported: ["Always", "OnRootMismatch"],
    }),
    ...validateChoice(`${field}.supplementalGroupsPolicy`, {
      value: security.supplementalGroupsPolicy,
      supported: ["Merge", "Strict"],
    }),
    ...validateProfiles(security, field),
  ];
}

const validateContainers = (containers: readonly Container[], field: string): FieldError[] =>
  containers.flatMap((container, index) => validateContainer(container, `${field}[${index}]`));

function validateContainer(container: Container, field: string): FieldError[] {
  const { terminationMessagePolicy, imagePullPolicy, ports: opened = [], env = [] } = container;
  const { securityContext: security = {} } = container;
  const at = `${field}.securityContext`;
  return [
    ...validateChoice(`${field}.terminationMessagePolicy`, {
      value: terminationMessagePolicy,
      supported: ["File", "FallbackToLogsOnError"],
    }),
    ...opened.flatMap(({ containerPort, hostPort = 0, protocol }, index) => [
      ...(containerPort === 0
        ? [required(`${field}.ports[${index}].containerPort`, "")]
        : between(`${field}.ports[${index}].containerPort`, { value: containerPort, ...ports })),
      ...(hostPort === 0 ? [] : between(`${field}.ports[${index}].hostPort`, { value: hostPort, ...ports })),
      ...validateChoice(`${field}.ports[${index}].protocol`, { value: protocol, supported: ["SCTP", "TCP", "UDP"] }),
    ]),
    ...env.flatMap(({ name }, index) => validateVariable(`${field}.env[${index}].name`, name)),
    ...validateChoice(`${field}.imagePullPolicy`, {
      value: imagePullPolicy,
      supported: ["Always", "IfNotPresent", "Never"],
    }),
    ...between(`${at}.runAsUser`, { value: security.runAsUser, ...largeNumbers }),
    ...between(`${at}.runAsGroup`, { value: security.runAsGroup, ...largeNumbers }),
    ...validateChoice(`${at}.procMount`, { value: security.procMount, supported: ["Default", "Unmasked"] }),
    ...validateProfiles(security, at),
  ];
}

function validateVariable(field: string, value: string): FieldError[] {
  if (value === "") return [required(field, "")];
  const detail = "a valid environment variable name must consist only of printable ASCII characters other than '='";
  return /^[ -<>-~]*$/.test(value) ? [] : [invalidValue(field, { value, detail })];
}

const validateProfiles = (
  { seccompProfile, appArmorProfile }: Pick<PodSecurity, "seccompProfile" | "appArmorProfile">,
  field: string,
): FieldError[] =>
  Object.entries({ seccompProfile, appArmorProfile }).flatMap(([name, profile]) =>
    profile?.type === ""
      ? [required(`${field}.${name}.type`, `type is required when ${name} is set`)]
      : validateChoice(`${field}.${name}.type`, {
          value: profile?.type,
          supported: ["Localhost", "RuntimeDefault", "Unconfined"],
        }),
  );

const validateLabel = (field: string, value = ""): FieldError[] =>
  value === "" ? [] : invalidValues(field, { value, details: dnsLabelFaults(value) });

interface Range {
  readonly value: number | undefined;
  readonly minimum: number;
  readonly maximum: number;
}

const between = (field: string, { value, minimum, maximum }: Range): FieldError[] =>
  value === undefined || (value >= minimum && value <= maximum)
    ? []
    : [invalidValue(field, { value, detail: `must be between ${minimum} and ${maximum}, inclusive` })];
