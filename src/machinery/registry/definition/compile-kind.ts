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

/** What follows from a definition: made once, when the server starts, and never by a request. */
export interface CompiledKind<T extends ApiObject = ApiObject> {
  readonly schema: CompiledSchema<T>;
  /** The schema of the objects that hooks and admission see, and of field ownership where fields have other names. */
  readonly storedSchema: CompiledSchema<T>;
  /** From the names of the served fields to the stored ones, and back. Undefined where they are the same. */
  readonly fieldNames: FieldNames | undefined;
  /** The same of every version of the kind that has names of its own, by its apiVersion. */
  readonly fieldNamesOf: ReadonlyMap<string, FieldNames>;
  /** The subresources that are only created, by name. */
  readonly created: ReadonlyMap<string, CompiledReview>;
  /** `v1`, `certificates.platform.io/v1`. */
  readonly apiVersion: string;
  /** The apiVersion of the objects that hooks and admission see. */
  readonly storedApiVersion: string;
  /**
   * The apiVersions under which who owns a field owns it under all. As in upstream, writes under `/api` and those under `/apis`
   * do not know each other's owners.
   */
  readonly apiVersions: ReadonlySet<string>;
  /** The resource, as errors name it. */
  readonly resource: GroupResource;
  /** The kind, as validation errors name it: that of the objects that hooks see, where fields have other names. */
  readonly kind: GroupResource;
  /** What each endpoint does not write, by the name of the subresource; "" is the resource itself. */
  readonly resetFields: ReadonlyMap<string, FieldSet>;
  /** Sent as a Warning header with every answer. Undefined for a version that is not deprecated. */
  readonly deprecationWarning: string | undefined;
}

/** `sameKind` is what follows from the definition under another group or version. */
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
      `${apiVersion} ${kind} is deprecated in ${deprecation.deprecatedIn}+, unavailable in ${deprecation.unavailableIn}+`,
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

/** A kind that is answered and never stored, with what follows from its definition. */
export interface CompiledReview extends GroupVersion {
  /** What admission knows it by. */
  readonly storedAs: GroupVersion;
  /** Other versions that the same path takes. */
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
