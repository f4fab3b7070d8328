import { listMeta, typeMetaFields } from "../../schema/meta-schemas.ts";
import { objectMeta } from "../../schema/object-meta-schema.ts";
import { atomicList, boolean, string } from "../../schema/schema.ts";
import type { ArraySchema } from "../../schema/schema.ts";
import { always, omitEmpty, pointer, struct } from "../../schema/struct.ts";

// The documents of discovery, under the protobuf numbers of upstream's `meta/v1` and `apidiscovery/v2`.

const names = atomicList(string);

const verbs: ArraySchema<string[]> = { ...names, goType: "v1.Verbs" };

const serverAddress = struct("v1.ServerAddressByClientCIDR", "Where clients of some addresses reach the server.", {
  clientCIDR: always(1, string, "The addresses of the clients."),
  serverAddress: always(2, string, "The host and port of the server."),
});

/** The versions of the core group. */
export const apiVersionsSchema = struct("v1.APIVersions", "The versions of the core group.", {
  ...typeMetaFields,
  versions: always(1, names, "The versions."),
  serverAddressByClientCIDRs: always(2, atomicList(serverAddress), "Where clients reach the server."),
});

const groupVersion = struct("v1.GroupVersionForDiscovery", "A version of a group.", {
  groupVersion: always(1, string, "The group and the version, as in apiVersion."),
  version: always(2, string, "Only the version."),
});

const groupFields = {
  name: always(1, string, "The name of the group."),
  versions: always(2, atomicList(groupVersion), "Its versions."),
  preferredVersion: always(3, groupVersion, "The version that clients should use."),
  serverAddressByClientCIDRs: omitEmpty(4, atomicList(serverAddress), "Where clients reach its server."),
};

/** A group, as the answer to a request for it. */
export const apiGroupSchema = struct("v1.APIGroup", "A group.", { ...typeMetaFields, ...groupFields });

/** All groups but the core group. */
export const apiGroupListSchema = struct("v1.APIGroupList", "All groups but the core group.", {
  ...typeMetaFields,
  groups: always(1, atomicList(struct("v1.APIGroup", "A group.", groupFields)), "The groups."),
});

const apiResource = struct("v1.APIResource", "A resource or subresource of a version.", {
  name: always(1, string, "Its plural name, or the resource and the subresource."),
  singularName: always(6, string, "Its singular name."),
  namespaced: always(2, boolean, "Whether its objects are in namespaces."),
  group: omitEmpty(8, string, "The group of its kind, if it is another than the list's."),
  version: omitEmpty(9, string, "The version of its kind, if it is another than the list's."),
  kind: always(3, string, "Its kind."),
  verbs: always(4, verbs, "What can be done with it."),
  shortNames: omitEmpty(5, names, "Its short names."),
  categories: omitEmpty(7, names, "The names of the groups of resources that it is in."),
  storageVersionHash: omitEmpty(10, string, "A hash of the version that it is stored as."),
});

/** The resources of a version of a group. */
export const apiResourceListSchema = struct("v1.APIResourceList", "The resources of a version of a group.", {
  ...typeMetaFields,
  groupVersion: always(1, string, "The group and the version."),
  resources: always(2, atomicList(apiResource), "The resources."),
});

const groupVersionKind = struct("v1.GroupVersionKind", "A kind of a version.", {
  group: always(1, string, "Its group."),
  version: always(2, string, "Its version."),
  kind: always(3, string, "Its name."),
});

const subresource = struct("v2.APISubresourceDiscovery", "A subresource.", {
  subresource: always(1, string, "Its name."),
  responseKind: pointer(2, groupVersionKind, "The kind of its answers."),
  acceptedTypes: omitEmpty(3, atomicList(groupVersionKind), "The kinds that it accepts."),
  verbs: always(4, names, "What can be done with it."),
});

const resource = struct("v2.APIResourceDiscovery", "A resource.", {
  resource: always(1, string, "Its plural name."),
  responseKind: pointer(2, groupVersionKind, "Its kind."),
  scope: always(3, string, "Cluster or Namespaced."),
  singularResource: always(4, string, "Its singular name."),
  verbs: always(5, names, "What can be done with it."),
  shortNames: omitEmpty(6, names, "Its short names."),
  categories: omitEmpty(7, names, "The names of the groups of resources that it is in."),
  subresources: omitEmpty(8, atomicList(subresource), "Its subresources."),
});

const version = struct("v2.APIVersionDiscovery", "A version of a group.", {
  version: always(1, string, "The version."),
  resources: omitEmpty(2, atomicList(resource), "Its resources."),
  freshness: omitEmpty(3, string, "Current or Stale."),
});

const group = struct("v2.APIGroupDiscovery", "A group.", {
  metadata: always(1, objectMeta, "Its name."),
  versions: omitEmpty(2, atomicList(version), "Its versions."),
});

/** Groups with all their versions and resources. */
export const apiGroupDiscoveryListSchema = struct("v2.APIGroupDiscoveryList", "Groups with their resources.", {
  ...typeMetaFields,
  metadata: always(1, listMeta, "Empty."),
  items: always(2, atomicList(group), "The groups."),
});
