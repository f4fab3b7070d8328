import type { Named } from "../api/api-error.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { apiVersionOf } from "../api/resource-type.ts";
import type { FieldSet } from "./apply/field-set.ts";
import { setOfPaths } from "./apply/owned-fields.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

/** What follows from a definition: made once, when the server starts, and never by a request. */
export interface CompiledKind {
  /** `v1`, `certificates.platform.io/v1`. */
  readonly apiVersion: string;
  /** The resource, as errors name it. */
  readonly resource: Named;
  /** The kind, as validation errors name it. */
  readonly kind: Named;
  /** What each endpoint does not write, by the name of the subresource; "" is the resource itself. */
  readonly resetFields: ReadonlyMap<string, FieldSet>;
}

export function compileKind<T extends ApiObject>(definition: ResourceDefinition<T>): CompiledKind {
  const { group, kind, plural, subresources = {} } = definition;
  const endpoints = [["", definition] as const, ...Object.entries(subresources)];
  return {
    apiVersion: apiVersionOf(definition),
    resource: { group, resource: plural },
    kind: { group, resource: kind },
    resetFields: new Map(
      endpoints.flatMap(([name, endpoint]) =>
        "resetFields" in endpoint && endpoint.resetFields !== undefined
          ? [[name, setOfPaths(endpoint.resetFields)]]
          : [],
      ),
    ),
  };
}
