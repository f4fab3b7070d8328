import { timestamp } from "../../../machinery/api/clock.ts";
import type { Namespace } from "./namespaces.ts";

type Condition = NonNullable<Namespace["status"]["conditions"]>[number];

/** The remaining objects of one resource in a namespace that is being emptied. */
export interface RemainingContent {
  /** `pods.` or `leases.coordination.k8s.io`, as upstream's messages name resources. */
  readonly resource: string;
  readonly count: number;
  /** The number of objects with each finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
}

export interface EmptyingProgress {
  readonly remaining: readonly RemainingContent[];
  /** Why resources could not be emptied. */
  readonly failures: readonly string[];
}

interface Findings {
  readonly type: string;
  /** Empty: nothing delays the deletion. */
  readonly fault: string;
  readonly faultReason: string;
  readonly okReason: string;
  readonly ok: string;
}

/**
 * The conditions of a namespace that is being emptied, in upstream's words (`namespaceConditionUpdater`). A condition keeps its
 * time while its status is the same. Returns the given list itself when nothing has changed.
 */
export function namespaceConditions(
  previous: readonly Condition[],
  { remaining, failures, now }: EmptyingProgress & { readonly now: number },
): readonly Condition[] {
  const wanted = findingsOf({ remaining, failures }).map((finding): Condition => {
    const { type, fault, ok } = finding;
    const status = fault === "" ? "False" : "True";
    const reason = fault === "" ? finding.okReason : finding.faultReason;
    const message = fault === "" ? ok : fault;
    const before = previous.find((one) => one.type === type);
    if (before?.status !== status) return { type, status, lastTransitionTime: timestamp(now), reason, message };
    const isSame = before.reason === reason && (before.message ?? "") === message;
    return isSame ? before : { ...before, reason, message };
  });
  if (wanted.every((one) => previous.includes(one))) return previous;
  return [...previous.filter((one) => wanted.every(({ type }) => type !== one.type)), ...wanted];
}

const findingsOf = ({ remaining, failures }: EmptyingProgress): readonly Findings[] => [
  {
    type: "NamespaceDeletionDiscoveryFailure",
    fault: "",
    faultReason: "DiscoveryFailed",
    okReason: "ResourcesDiscovered",
    ok: "All resources successfully discovered",
  },
  {
    type: "NamespaceDeletionGroupVersionParsingFailure",
    fault: "",
    faultReason: "GroupVersionParsingFailed",
    okReason: "ParsedGroupVersions",
    ok: "All legacy kube types successfully parsed",
  },
  {
    type: "NamespaceDeletionContentFailure",
    fault:
      failures.length === 0
        ? ""
        : `Failed to delete all resource types, ${failures.length} remaining: ${failures.toSorted().join(", ")}`,
    faultReason: "ContentDeletionFailed",
    okReason: "ContentDeleted",
    ok: "All content successfully deleted, may be waiting on finalization",
  },
  {
    type: "NamespaceContentRemaining",
    fault: sentence(
      "Some resources are remaining: ",
      remaining.map(({ resource, count }) => `${resource} has ${count} resource instances`),
    ),
    faultReason: "SomeResourcesRemain",
    okReason: "ContentRemoved",
    ok: "All content successfully removed",
  },
  {
    type: "NamespaceFinalizersRemaining",
    fault: sentence(
      "Some content in the namespace has finalizers remaining: ",
      [...totalFinalizers(remaining)].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`),
    ),
    faultReason: "SomeFinalizersRemain",
    okReason: "ContentHasNoFinalizers",
    ok: "All content-preserving finalizers finished",
  },
];

/** The most entries in a message, so that people can read it. */
const maximumShown = 20;

function sentence(start: string, parts: readonly string[]): string {
  if (parts.length === 0) return "";
  const shown = parts.toSorted().slice(0, maximumShown);
  const more = parts.length > maximumShown ? [`and ${parts.length - maximumShown} more`] : [];
  return `${start}${[...shown, ...more].join(", ")}`;
}

function totalFinalizers(remaining: readonly RemainingContent[]): ReadonlyMap<string, number> {
  const totals = new Map<string, number>();
  for (const { finalizers } of remaining) {
    for (const [finalizer, count] of finalizers) totals.set(finalizer, (totals.get(finalizer) ?? 0) + count);
  }
  return totals;
}
