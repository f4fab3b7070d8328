import type { Names } from "../../api/names.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

/** A stored kind, under the names of one profile. */
type Kind = (names: Names) => ResourceDefinition;

/**
 * Makes a Kind, without the type of its objects. That is safe, because a registry gives a definition only objects that were decoded with
 * the definition's own schema.
 */
export const kind =
  <T extends ApiObject>(define: (names: Names) => ResourceDefinition<T>): Kind =>
  (names) =>
    define(names) as unknown as ResourceDefinition;
