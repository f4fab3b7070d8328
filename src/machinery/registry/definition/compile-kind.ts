import type { ApiObject } from "../../api/object-meta.ts";
import { apiVersionOf } from "../../api/resource-type.ts";
import type { GroupResource, GroupVersion } from "../../api/resource-type.ts";
import type { FieldSet } from "../apply/field-set.ts";
import { setOfPaths } from "../apply/owned-fields.ts";
import { TrackedReviews } from "../apply/tracked-reviews.ts";
import { CompiledSchema } from "./compiled-schema.ts";
import { FieldNames } from "./field-names.ts";
import { storedAs } from "./resource-definition.ts";
import type { CreateSubresource, ResourceDefinition } from "./resource-definition.ts";
import type { ReviewDefinition } from "./review-definition.ts";

/** Everything that is computed from a definition, once, when the server starts. */
export interface CompiledKind<T extends ApiObject = ApiObject> {
  readonly schema: CompiledSchema<T>;
  /** The schema of the stored form: of the objects that hooks and admission see, and of field ownership if the version renames fields. */
  readonly storedSchema: CompiledSchema<T>;
  /** Converts between the served and the stored names of fields. Undefined when these are the same. */
  readonly fieldNames: FieldNames | undefined;
  /** The `fieldNames` of every version of the kind that renames fields, by apiVersion. */
  readonly fieldNamesOf: ReadonlyMap<string, FieldNames>;
  /** The subresources of the type `create`, by name. */
  readonly created: ReadonlyMap<string, CompiledReview>;
  /** `v1`, `certificates.platform.io/v1`. */
  readonly apiVersion: string;
  /** The apiVersion of the objects that hooks and admission see. */
  readonly storedApiVersion: string;
  /**
   * The apiVersions that share field ownership with this one. As in upstream, versions under `/api` and versions under `/apis` do not
   * share it.
   */
  readonly apiVersions: ReadonlySet<string>;
  /** The resource, as errors name it. */
  readonly resource: GroupResource;
  /** The kind, as validation errors name it. If the version renames fields, the group is that of the stored form. */
  readonly kind: GroupResource;
  /** The fields that each endpoint does not write, by the name of the subresource; "" is the resource itself. */
  readonly resetFields: ReadonlyMap<string, FieldSet>;
  /** Sent as a Warning header with every answer. Undefined for a version that is not deprecated. */
  readonly deprecationWarning: string | undefined;
}

/** Compiles a definition. `sameKind`: the compiled definition of the same kind under another group or version, to share its parts. */
export function compileKind<T extends ApiObject>(
  definition: ResourceDefinition<T>,
  sameKind?: CompiledKind<T>,
): CompiledKind<T> {
  const { group, kind, plural, alsoServedAs = [], deprecation } = definition;
  const apiVersion = apiVersionOf(definition);
  const schema =
    sameKind !== undefined && sameKind.schema.schema === definition.schema
      ? sameKind.schema
      : new CompiledSchema(definition.schema);
  return {
    schema,
    storedSchema: sameKind?.schema ?? schema,
    fieldNames: definition.renames && new FieldNames(definition.renames, definition.schema),
    fieldNamesOf: sameKind?.fieldNamesOf ?? fieldNamesOfVersions(definition),
    created: sameKind?.created ?? createdSubresources(definition),
    apiVersion,
    storedApiVersion: apiVersionOf(storedAs(definition)),
    apiVersions: new Set(
      [storedAs(definition), ...alsoServedAs]
        .filter((version) => (version.group === "") === (group === ""))
        .map(apiVersionOf),
    ),
    resource: { group, resource: plural },
    kind: { group: definition.renames === undefined ? group : storedAs(definition).group, resource: kind },
    resetFields: resetFieldsOf(definition),
    deprecationWarning:
      deprecation &&
      `${apiVersion} ${kind} is deprecated in v${deprecation.deprecatedIn}+, unavailable in v${deprecation.unavailableIn}+`,
  };
}

function fieldNamesOfVersions<T extends ApiObject>(definition: ResourceDefinition<T>): Map<string, FieldNames> {
  const fieldNames = new Map<string, FieldNames>();
  for (const { renames, schema = definition.schema, ...version } of definition.alsoServedAs ?? [])
    if (renames !== undefined) fieldNames.set(apiVersionOf(version), new FieldNames(renames, schema));
  return fieldNames;
}

function createdSubresources<T extends ApiObject>({
  subresources,
}: ResourceDefinition<T>): Map<string, CompiledReview> {
  const created = new Map<string, CompiledReview>();
  for (const [name, subresource] of Object.entries(subresources ?? {}))
    if (subresource.type === "create") created.set(name, compileReview(subresource));
  return created;
}

function resetFieldsOf<T extends ApiObject>(definition: ResourceDefinition<T>): Map<string, FieldSet> {
  const sets = new Map<string, FieldSet>();
  for (const [name, endpoint] of [["", definition] as const, ...Object.entries(definition.subresources ?? {})])
    if ("resetFields" in endpoint && endpoint.resetFields !== undefined)
      sets.set(name, setOfPaths(endpoint.resetFields));
  return sets;
}

/** A kind that is answered and never stored, with everything that is computed from its definition. */
export interface CompiledReview extends GroupVersion {
  /** The group and version that admission rules see. */
  readonly storedAs: GroupVersion;
  /** Other groups and versions that a body at the same path may have. */
  readonly otherVersions: readonly GroupVersion[];
  readonly kind: string;
  readonly schema: CompiledSchema<ApiObject>;
  readonly tracked: TrackedReviews;
  /** The answer contains none of the request's metadata, so managedFields need not be computed. */
  readonly dropsMetadata: boolean;
}

export const compileReview = (definition: ReviewDefinition | CreateSubresource): CompiledReview => {
  const { group, version, kind } = definition;
  return {
    group,
    version,
    storedAs: storedAs(definition),
    otherVersions: ("otherVersions" in definition ? definition.otherVersions : undefined) ?? [],
    kind,
    schema: new CompiledSchema(definition.schema),
    tracked: new TrackedReviews(),
    dropsMetadata: "dropsMetadata" in definition && definition.dropsMetadata,
  };
};
