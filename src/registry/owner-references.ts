import type { ApiObject, OwnerReference } from "../api/object-meta.ts";
import { isSameJson } from "./patch/json-value.ts";

export interface OwnerReferencesCheck {
  /** Admission may add references too; what it repeats is warned of in other words. */
  readonly when: "as sent" | "after admission";
  warn(warning: string): void;
}

const occasions: Readonly<Record<OwnerReferencesCheck["when"], string>> = {
  "as sent": "",
  "after admission": " after mutating admission happens",
};

/** The object with each owner reference once, and a warning when one was repeated (upstream: `dedupOwnerReferences`). */
export function withoutRepeatedOwners<T extends ApiObject>(object: T, { when, warn }: OwnerReferencesCheck): T {
  const references = object.metadata.ownerReferences ?? [];
  if (references.length < 2) return object;
  const byUid = new Map<string, OwnerReference[]>();
  const repeatedUids: string[] = [];
  const ownerReferences = references.filter((reference) => {
    const known = byUid.get(reference.uid);
    if (known?.some((one) => isSameJson(one, reference))) {
      repeatedUids.push(reference.uid);
      return false;
    }
    byUid.set(reference.uid, [...(known ?? []), reference]);
    return true;
  });
  if (repeatedUids.length === 0) return object;
  warn(
    `.metadata.ownerReferences contains duplicate entries${occasions[when]}; API server dedups owner references in ` +
      "1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: " +
      repeatedUids.join(", "),
  );
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}
