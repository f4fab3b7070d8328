import type { ApiObject } from "../api/object-meta.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

/** The definition of a kind under each group and version that serves it; the one that it is stored as comes first. */
export const servedDefinitions = <T extends ApiObject>(
  definition: ResourceDefinition<T>,
): readonly ResourceDefinition<T>[] => {
  const { deprecation: _deprecation, ...kind } = definition;
  const storedAs = { group: kind.group, version: kind.version };
  return [definition, ...(kind.alsoServedAs ?? []).map((version) => ({ ...kind, ...version, storedAs }))];
};
