import {
  duplicate,
  forbiddenField,
  invalidValue,
  invalidValues,
} from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import { qualifiedNameFaults } from "../../../machinery/api/validation/label-validation.ts";
import type { Pod } from "./schema/pod-schema.ts";

type NodeAffinity = NonNullable<NonNullable<Pod["spec"]["affinity"]>["nodeAffinity"]>;
type NodeSelectorTerm = NonNullable<
  NonNullable<NodeAffinity["requiredDuringSchedulingIgnoredDuringExecution"]>["nodeSelectorTerms"]
>[number];

const field = "spec.schedulingGates";

/** Whether gates prevent the scheduling of a Pod. */
export const isGated = ({ spec }: Pod): boolean => (spec.schedulingGates ?? []).length > 0;

/** The condition of a gated Pod (upstream: `applySchedulingGatedCondition`). */
export const gated = {
  type: "PodScheduled",
  status: "False",
  reason: "SchedulingGated",
  message: "Scheduling is blocked due to non-empty scheduling gates",
};

/** Returns the faults of scheduling gates (upstream: `validateSchedulingGates`). */
export function validateSchedulingGates({ spec: { schedulingGates = [] } }: Pod): FieldError[] {
  const seen = new Set<string>();
  return schedulingGates.flatMap(({ name }, index) => {
    const at = `${field}[${index}]`;
    const faults = invalidValues(at, { value: name, details: qualifiedNameFaults(name) });
    if (seen.has(name)) faults.push(duplicate(at, name));
    seen.add(name);
    return faults;
  });
}

/** Returns the faults of changed gates, which can only be removed (upstream: `validateOnlyDeletedSchedulingGates`). */
export function validateGateChange({ spec: next }: Pod, { spec: previous }: Pod): FieldError[] {
  const known = new Set(previous.schedulingGates?.map(({ name }) => name));
  return (next.schedulingGates ?? []).flatMap(({ name }, index) =>
    known.has(name)
      ? []
      : [
          forbiddenField(
            `${field}[${index}].name`,
            `only deletion is allowed, but found new scheduling gate '${name}'`,
          ),
        ],
  );
}

/** Returns the faults of a gated Pod's changed node selection, which can only become narrower (upstream: `ValidatePodUpdate`). */
export function validateGatedChange({ spec: next }: Pod, { spec: previous }: Pod): FieldError[] {
  const kept = Object.entries(previous.nodeSelector ?? {}).every(([key, value]) => next.nodeSelector?.[key] === value);
  return [
    ...(kept
      ? []
      : [
          invalidValue("spec.nodeSelector", {
            value: next.nodeSelector ?? null,
            detail: "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
          }),
        ]),
    ...validateTermChange(requiredTerms(next), requiredTerms(previous)),
  ];
}

const requiredTerms = ({ affinity }: Pod["spec"]): readonly NodeSelectorTerm[] =>
  affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];

function validateTermChange(next: readonly NodeSelectorTerm[], previous: readonly NodeSelectorTerm[]): FieldError[] {
  const at = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  if (previous.length === 0) return [];
  if (previous.length !== next.length) {
    const detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
    return [invalidValue(at, { value: next.length === 0 ? null : next, detail })];
  }
  return next.flatMap((term, index) =>
    previous[index] !== undefined && onlyAdds(term, previous[index])
      ? []
      : [
          invalidValue(`${at}[${index}]`, {
            value: term,
            detail: "only additions are allowed (no mutations or deletions)",
          }),
        ],
  );
}

/**
 * Whether a term only gets additional requirements. A term without requirements matches no node, so additions to it would match more nodes.
 */
function onlyAdds(next: NodeSelectorTerm, previous: NodeSelectorTerm): boolean {
  const members = ["matchExpressions", "matchFields"] as const;
  const isEmpty = members.every((member) => (previous[member] ?? []).length === 0);
  return members.every((member) => {
    const [before, after] = [previous[member] ?? [], next[member] ?? []];
    return isEmpty ? after.length === 0 : isSemanticallyEqual(after.slice(0, before.length), before);
  });
}
