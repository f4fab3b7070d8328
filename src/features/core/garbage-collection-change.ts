import { isSemanticallyEqual } from "../../machinery/api/json-equality.ts";
import type { ApiObject } from "../../machinery/api/object-meta.ts";

/**
 * Whether an update touches nothing but what the garbage collector works on: owner references and finalizers (upstream:
 * `rbac.IsOnlyMutatingGCFields`). An update that changes nothing is one too.
 */
export function isOnlyGarbageCollectionChange(next: ApiObject, previous: ApiObject): boolean {
  const { ownerReferences, finalizers, selfLink, managedFields } = previous.metadata;
  const metadata = { ...next.metadata, ownerReferences, finalizers, selfLink, managedFields };
  return isSemanticallyEqual({ ...next, metadata }, previous);
}
