import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";

/**
 * Whether an update changes only the fields that the garbage collector writes: owner references and finalizers
 * (upstream: `rbac.IsOnlyMutatingGCFields`). Also true for an update that changes nothing.
 */
export function isOnlyGarbageCollectionChange(next: ApiObject, previous: ApiObject): boolean {
  const { ownerReferences, finalizers, selfLink, managedFields } = previous.metadata;
  const metadata = { ...next.metadata, ownerReferences, finalizers, selfLink, managedFields };
  return isSemanticallyEqual({ ...next, metadata }, previous);
}
