import type { Named } from "../api/api-error.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { apiVersionOf } from "../api/resource-type.ts";
import type { FieldSet } from "./apply/field-set.ts";
import { setOfPaths } from "./apply/owned-fields.ts";
import { storedAs } from "./resource-definition.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

/** What follows from a definition: made once, when the server starts, and never by a request. */
export interface CompiledKind {
  /** `v1`, `certificates.platform.io/v1`. */
  readonly apiVersion: string;
  /** Of the objects that hooks and admission see. */
  readonly storedApiVersion: string;
  /** Of all versions that serve the kind: who owned a field under one of them owns it under all. */
  readonly apiVersions: ReadonlySet<string>;
  /** The resource, as errors name it. */
  readonly resource: Named;
  /** The kind, as validation errors name it. */
  readonly kind: Named;
  /** What each endpoint does not write, by the name of the subresource; "" is the resource itself. */
  readonly resetFields: ReadonlyMap<string, FieldSet>;
  /** Sent as a Warning header with every answer. Undefined for a version that is not deprecated. */
  readonly deprecationWarning: string | undefined;
}

export function compileKind<T extends ApiObject>(definition: ResourceDefinition<T>): CompiledKind {
  const { group, kind, plural, subresources = {}, alsoServedAs = [], deprecation } = definition;
  const apiVersion = apiVersionOf(definition);
  const endpoints = [["", definition] as const, ...Object.entries(subresources)];
  return {
    apiVersion,
    storedApiVersion: apiVersionOf(storedAs(definition)),
    apiVersions: new Set([storedAs(definition), ...alsoServedAs].map(apiVersionOf)),
    resource: { group, resource: plural },
    kind: { group, resource: kind },
    resetFields: new Map(
      endpoints.flatMap(([name, endpoint]) =>
        "resetFields" in endpoint && endpoint.resetFields !== undefined
          ? [[name, setOfPaths(endpoint.resetFields)]]
          : [],
      ),
    ),
    deprecationWarning:
      deprecation &&
      `${apiVersion} ${kind} is deprecated in ${deprecation.deprecatedIn}+, unavailable in ${deprecation.unavailableIn}+`,
  };
}
