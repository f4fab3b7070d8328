import type { ApiObject } from "../../api/object-meta.ts";
import type { FieldWrite } from "../apply/track-update.ts";
import type { ResourceRegistry } from "../resource-registry.ts";

/**
 * The parts of a write that field management needs. Where a version has names of its own for fields, ownership is computed under
 * the stored ones and recorded under its own: an entry says in which version its paths are.
 */
export function fieldWrite<T extends ApiObject>(
  { compiled, clock }: ResourceRegistry<T>,
  { manager, subresource }: { readonly manager: string; readonly subresource: string },
): FieldWrite {
  return {
    compiled: compiled.storedSchema,
    manager,
    apiVersion: compiled.apiVersion,
    apiVersions: compiled.apiVersions,
    fieldNamesOf: compiled.fieldNamesOf,
    subresource,
    now: clock.now(),
    resetFields: compiled.resetFields.get(subresource),
  };
}
