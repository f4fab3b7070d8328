import type { ApiObject } from "../../api/object-meta.ts";
import type { FieldWrite } from "../apply/track-update.ts";
import type { ResourceRegistry } from "../resource-registry.ts";

/**
 * The parts of a write that field management needs. If a version renames fields, ownership is computed with the stored names and
 * recorded with the version's names: a managedFields entry says which version its paths belong to.
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
