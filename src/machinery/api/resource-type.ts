import type { ApiObject } from "./object-meta.ts";
import type { GroupName, Names } from "./names.ts";

/**
 * What a resource is called, for everyone who speaks of it: its definition, typed stores, the client and the loops. `T` is
 * the type of its objects; it is never a value.
 */
export interface ResourceType<T extends ApiObject = ApiObject> {
  /** "" is the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope: "Namespaced" | "Cluster";
  readonly objects?: T;
}

/** A resource type under the names of one profile. */
export type NamedResourceType<T extends ApiObject = ApiObject> = (names: Names) => ResourceType<T>;

/** Names a resource once. The group is resolved by the profile's names; the plural is the lower-case kind with an `s`. */
export function resourceType<T extends ApiObject>({
  group,
  version = "v1",
  kind,
  scope,
}: {
  readonly group: GroupName | "";
  readonly version?: string;
  readonly kind: string;
  readonly scope: "Namespaced" | "Cluster";
}): NamedResourceType<T> {
  const plural = `${kind.toLowerCase()}s`;
  return (names) => ({ group: group === "" ? "" : names.group(group), version, kind, plural, scope });
}
