import { createHash } from "node:crypto";
import { apiPathOf, apiVersionOf } from "../../api/resource-type.ts";
import { withAggregated } from "./aggregated-discovery.ts";
import { discoveryGroups, shortNamesAndCategories, singularOf, subresourcesOf } from "./discovery-groups.ts";
import type { DiscoveryGroup, DiscoveryVersion } from "./discovery-groups.ts";
import { storedAs } from "../../registry/definition/resource-definition.ts";
import { apiGroupListSchema, apiGroupSchema, apiResourceListSchema, apiVersionsSchema } from "./discovery-schemas.ts";
import { documentRoute } from "./document-route.ts";
import type { Document } from "./document-route.ts";
import type { PathRoute, PathRoutes } from "./path-routes.ts";
import { verbsOf } from "../served-resources.ts";
import type { Definition } from "../served-resources.ts";

export interface DiscoveryOptions {
  /** Groups and versions are listed in the order of their first definition. The first version is the preferred one. */
  readonly definitions: readonly Definition[];
  /** The host and port where clients reach the server. Known once it listens. */
  serverAddress(): string;
}

/** The documents with which clients discover the resources, plain and aggregated. All are created once, here. */
export function discoveryRoutes({ definitions, serverAddress }: DiscoveryOptions): PathRoutes {
  const groups = discoveryGroups(definitions);
  const core = groups.find(({ name }) => name === "");
  const named = groups.filter(({ name }) => name !== "");

  const routes = new Map<string, PathRoute>();
  const coreVersions = core?.versions.map(({ version }) => version) ?? [];
  const versions = (): Document => ({
    kind: "APIVersions",
    versions: coreVersions,
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: serverAddress() }],
  });
  routes.set("/api", withAggregated(documentRoute(versions, { schema: apiVersionsSchema }), core ? [core] : []));
  const groupList = { kind: "APIGroupList", apiVersion: "v1", groups: named.map(apiGroup) };
  routes.set(
    "/apis",
    withAggregated(documentRoute(groupList, { schema: apiGroupListSchema, isOfAggregator: true }), named),
  );
  for (const group of named) {
    routes.set(
      `/apis/${group.name}`,
      documentRoute(
        { kind: "APIGroup", apiVersion: "v1", ...apiGroup(group) },
        { schema: apiGroupSchema, isOfAggregator: true },
      ),
    );
  }
  for (const group of groups) {
    for (const version of group.versions) {
      routes.set(
        apiPathOf({ group: group.name, version: version.version }),
        documentRoute(resourceList(group.name, version), { schema: apiResourceListSchema }),
      );
    }
  }
  return routes;
}

function apiGroup({ name, versions }: DiscoveryGroup): object {
  const entries = versions.map(({ version }) => ({ groupVersion: apiVersionOf({ group: name, version }), version }));
  return { name, versions: entries, preferredVersion: entries[0] };
}

/**
 * The core group's list has no apiVersion: it is older than that field (upstream: `stripVersionNegotiatedSerializer`).
 */
const resourceList = (group: string, { version, definitions }: DiscoveryVersion): Document => ({
  kind: "APIResourceList",
  ...(group !== "" && { apiVersion: "v1" }),
  groupVersion: apiVersionOf({ group, version }),
  resources: definitions.flatMap(apiResources),
});

function apiResources(definition: Definition): object[] {
  const { kind, plural, scope } = definition;
  const namespaced = scope === "Namespaced";
  const resource = {
    name: plural,
    singularName: singularOf(definition),
    namespaced,
    kind,
    verbs: [...verbsOf(definition)].sort(),
    ...shortNamesAndCategories(definition),
    ...(isStored(definition) && { storageVersionHash: storageVersionHash(definition) }),
  };
  const subresources = subresourcesOf(definition).map(
    ({ name, responseKind: { group, version, kind: ownKind }, verbs }) => ({
      name: `${plural}/${name}`,
      singularName: "",
      namespaced,
      ...(version !== "" && { group, version }),
      kind: ownKind,
      verbs,
    }),
  );
  return [resource, ...subresources];
}

const isStored = (definition: Definition): boolean => !("create" in definition);

/** Upstream's hash of a kind's storage version: the first 8 bytes of SHA-256. */
function storageVersionHash(definition: Definition): string {
  const { group, version } = storedAs(definition);
  const hash = createHash("sha256").update(`${group}/${version}/${definition.kind}`);
  return hash.digest().subarray(0, 8).toString("base64");
}
