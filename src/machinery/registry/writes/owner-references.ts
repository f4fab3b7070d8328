import type { ApiObject, OwnerReference } from "../../api/object-meta.ts";
import type { Caller } from "../caller.ts";

export interface OwnerReferencesCheck {
  /** Duplicates that admission has added get a different warning. */
  readonly when: "as sent" | "after admission";
  readonly caller: Pick<Caller, "warn">;
}

const occasions: Readonly<Record<OwnerReferencesCheck["when"], string>> = {
  "as sent": "",
  "after admission": " after mutating admission happens",
};

const noOwners: readonly OwnerReference[] = [];

export const ownersOf = (object: ApiObject | undefined): readonly OwnerReference[] =>
  object?.metadata.ownerReferences ?? noOwners;

/** Removes repeated owner references, with a warning (upstream: `dedupOwnerReferences`). */
export function withoutRepeatedOwners<T extends ApiObject>(object: T, { when, caller }: OwnerReferencesCheck): T {
  const references = ownersOf(object);
  if (references.length < 2) return object;
  const known = new Set<string>();
  const repeatedUids: string[] = [];
  const ownerReferences = references.filter((reference) => {
    const key = keyOf(reference);
    if (known.has(key)) repeatedUids.push(reference.uid);
    return known.size < known.add(key).size;
  });
  if (repeatedUids.length === 0) return object;
  caller.warn(
    `.metadata.ownerReferences contains duplicate entries${occasions[when]}; API server dedups owner references in ` +
      "1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: " +
      shown(repeatedUids),
  );
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}

const keyOf = ({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }: OwnerReference): string =>
  JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);

/** How many repeated uids a warning lists. */
const maximumShown = 20;

const shown = (uids: readonly string[]): string =>
  uids.length > maximumShown
    ? `${uids.slice(0, maximumShown).join(", ")} and ${uids.length - maximumShown} more`
    : uids.join(", ");
