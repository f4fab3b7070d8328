import type { ApiObject } from "../api/object-meta.ts";
import { apiVersionOf } from "../api/resource-type.ts";
import type { ResourceType } from "../api/resource-type.ts";
import type { GroupVersion, ResourceDefinition } from "./resource-definition.ts";

/** The definition of a kind under each group and version that serves it; the one that it is stored as comes first. */
export const servedDefinitions = <T extends ApiObject>(
  definition: ResourceDefinition<T>,
): readonly ResourceDefinition<T>[] => {
  const { deprecation: _deprecation, ...kind } = definition;
  const storedAs = { group: kind.group, version: kind.version };
  return [definition, ...(kind.alsoServedAs ?? []).map((version) => ({ ...kind, ...version, storedAs }))];
};

/** A resource, with where else it is served. A definition is one. */
export interface ServedType extends ResourceType {
  readonly alsoServedAs?: readonly GroupVersion[];
}

/** Whether a kind is served under an apiVersion: a reference to an object may have any of them. */
export const isServedAs = ({ group, version, alsoServedAs = [] }: ServedType, apiVersion: string): boolean =>
  [{ group, version }, ...alsoServedAs].some((served) => apiVersionOf(served) === apiVersion);
