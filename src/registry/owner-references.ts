import type { ApiObject } from "../api/object-meta.ts";

export interface OwnerReferencesCheck {
  /** Admission may add references too; what it repeats is warned of in other words. */
  readonly when: "as sent" | "after admission";
  warn(warning: string): void;
}

/** More do not fit into a Warning header. */
const maximumShownUids = 100;

const occasions: Readonly<Record<OwnerReferencesCheck["when"], string>> = {
  "as sent": "",
  "after admission": " after mutating admission happens",
};

/** The object with each owner reference once, and a warning when one was repeated (upstream: `dedupOwnerReferences`). */
export function withoutRepeatedOwners<T extends ApiObject>(object: T, { when, warn }: OwnerReferencesCheck): T {
  const references = object.metadata.ownerReferences ?? [];
  if (references.length < 2) return object;
  const known = new Set<string>();
  const repeatedUids: string[] = [];
  const ownerReferences = references.filter((reference) => {
    const text = JSON.stringify(reference); // decoded: the fields are in the schema's order
    if (known.has(text)) {
      repeatedUids.push(reference.uid);
      return false;
    }
    known.add(text);
    return true;
  });
  if (repeatedUids.length === 0) return object;
  warn(
    `.metadata.ownerReferences contains duplicate entries${occasions[when]}; API server dedups owner references in ` +
      "1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: " +
      repeatedUids.slice(0, maximumShownUids).join(", "),
  );
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}
