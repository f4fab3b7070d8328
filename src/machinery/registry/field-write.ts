import type { ApiObject } from "../api/object-meta.ts";
import type { FieldWrite } from "./apply/track-update.ts";
import type { ResourceRegistry } from "./resource-registry.ts";

/** The parts of a write that field management needs. */
export function fieldWrite<T extends ApiObject>(
  { compiled, clock }: ResourceRegistry<T>,
  { manager, subresource }: { readonly manager: string; readonly subresource: string },
): FieldWrite {
  return {
    compiled: compiled.schema,
    manager,
    apiVersion: compiled.apiVersion,
    apiVersions: compiled.apiVersions,
    subresource,
    now: clock.now(),
    resetFields: compiled.resetFields.get(subresource),
  };
}
