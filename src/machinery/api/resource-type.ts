import type { ApiObject } from "./object-meta.ts";
import type { GroupName, Names } from "./names.ts";

/**
 * The names of a resource, as its definition, typed stores, the client and the loops use them. `T` is
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

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/** A kind in one version of its group. */
export type GroupVersionKind = Pick<ResourceType, "group" | "version" | "kind">;

/** How messages name a kind: `certificates.k8s.io/v1, Kind=ClusterTrustBundle`, or `/v1, Kind=Pod`. */
export const printKind = ({ group, version, kind }: GroupVersionKind): string => `${group}/${version}, Kind=${kind}`;

/** A resource of a group in any version (upstream: `GroupResource`). */
export interface GroupResource {
  readonly group: string;
  /** A plural (`serviceaccounts`); in errors about an object's contents, its kind. */
  readonly resource: string;
}

/** `certificatesigningrequests.certificates.platform.io`; for the core group only the resource. */
export const qualified = ({ group, resource }: GroupResource): string =>
  group === "" ? resource : `${resource}.${group}`;

/** How an object says its group and version: `v1`, or `certificates.k8s.io/v1`. */
export const apiVersionOf = ({ group, version }: GroupVersion): string =>
  group === "" ? version : `${group}/${version}`;

/** The group and version in an apiVersion. Undefined for an apiVersion with two slashes (upstream: `ParseGroupVersion`). */
export function parseApiVersion(apiVersion: string): GroupVersion | undefined {
  const [first = "", second, third] = apiVersion.split("/", 3);
  if (third !== undefined) return undefined;
  return second === undefined ? { group: "", version: first } : { group: first, version: second };
}

/**
 * The kind that a reference names. An apiVersion with two slashes counts as empty (upstream: `FromAPIVersionAndKind`).
 */
export function referencedKind({ apiVersion = "", kind = "" }: KindReference): GroupVersionKind {
  const { group, version } = parseApiVersion(apiVersion) ?? { group: "", version: "" };
  return { group, version, kind };
}

interface KindReference {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
}

/**
 * The usual spelling of an apiVersion with at most one slash. Like upstream, `/v1` becomes `v1`. An apiVersion that is empty, or is only a
 * slash or the expected group with a slash, becomes the expected one.
 */
export function plainApiVersion(apiVersion: string, expected: GroupVersion): string {
  if (apiVersion === "" || apiVersion === "/" || apiVersion === `${expected.group}/`) return apiVersionOf(expected);
  return apiVersion.startsWith("/") ? apiVersion.slice(1) : apiVersion;
}

/** Where a group and version is served: `/api/v1`, or `/apis/certificates.k8s.io/v1`. */
export const apiPathOf = (type: GroupVersion): string =>
  `${type.group === "" ? "/api" : "/apis"}/${apiVersionOf(type)}`;

/** A resource type under the names of one profile. */
export type NamedResourceType<T extends ApiObject = ApiObject> = (names: Names) => ResourceType<T>;

/** Names a resource once. The group is resolved by the profile's names. */
export function resourceType<T extends ApiObject>({
  group,
  version = "v1",
  kind,
  plural = `${kind.toLowerCase()}s`,
  scope,
}: {
  readonly group: GroupName | "";
  readonly version?: string;
  readonly kind: string;
  /** Default: the lower-case kind with an `s`. */
  readonly plural?: string;
  readonly scope: "Namespaced" | "Cluster";
}): NamedResourceType<T> {
  return (names) => ({ group: group === "" ? "" : names.group(group), version, kind, plural, scope });
}
