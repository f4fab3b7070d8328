import { createHash } from "node:crypto";
import { computedOnce } from "../../api/computed-once.ts";
import { apiPathOf, apiVersionOf } from "../../api/resource-type.ts";
import type { GroupVersionKind } from "../../api/resource-type.ts";
import { storedAs } from "../../registry/definition/resource-definition.ts";
import {
  apiGroupDiscoveryListSchema,
  apiGroupListSchema,
  apiGroupSchema,
  apiResourceListSchema,
  apiVersionsSchema,
} from "./discovery-schemas.ts";
import { documentEncoder, documentRoute, taggedDocument, taggedResponse } from "./document-route.ts";
import type { Document, TaggedDocument } from "./document-route.ts";
import { contentTypes, documentNegotiator } from "../negotiation.ts";
import type { Format, RequestedConversion } from "../negotiation.ts";
import type { PathRoute, PathRoutes } from "./path-routes.ts";
import { verbsOf, verbsOfSubresource } from "../served-resources.ts";
import type { Definition } from "../served-resources.ts";
import { writeYaml } from "../yaml/write-yaml.ts";

const discoveryGroup = "apidiscovery.k8s.io";
const discoveryKind = "APIGroupDiscoveryList";
const discoveryVersion = "v2";

export interface DiscoveryOptions {
  /** Groups and versions are listed in the order of their first definition. The first version is the preferred one. */
  readonly definitions: readonly Definition[];
  /** The host and port where clients reach the server. Known once it listens. */
  serverAddress(): string;
}

/** The documents with which clients discover the resources, plain and aggregated. All are created once, here. */
export function discoveryRoutes({ definitions, serverAddress }: DiscoveryOptions): PathRoutes {
  const groups = groupDefinitions(definitions);
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

interface Group {
  readonly name: string;
  readonly versions: Version[];
}

interface Version {
  readonly version: string;
  /** The kinds of the version, sorted by plural. */
  readonly definitions: Definition[];
}

function groupDefinitions(definitions: readonly Definition[]): Group[] {
  const groups: Group[] = [];
  for (const definition of definitions) {
    let group = groups.find(({ name }) => name === definition.group);
    if (group === undefined) groups.push((group = { name: definition.group, versions: [] }));
    let version = group.versions.find((one) => one.version === definition.version);
    if (version === undefined) group.versions.push((version = { version: definition.version, definitions: [] }));
    version.definitions.push(definition);
  }
  for (const { definitions: resources } of groups.flatMap(({ versions }) => versions)) {
    resources.sort((one, other) => (one.plural < other.plural ? -1 : 1));
  }
  return groups;
}

function apiGroup({ name, versions }: Group): object {
  const entries = versions.map(({ version }) => ({ groupVersion: apiVersionOf({ group: name, version }), version }));
  return { name, versions: entries, preferredVersion: entries[0] };
}

/**
 * The core group's list has no apiVersion: it is older than that field (upstream: `stripVersionNegotiatedSerializer`).
 */
const resourceList = (group: string, { version, definitions }: Version): Document => ({
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
    ...namesOf(definition),
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

/** The singular name of a resource. Upstream's singular names all have this form. */
const singularOf = ({ kind }: Definition): string => kind.toLowerCase();

const isStored = (definition: Definition): boolean => !("create" in definition);

function namesOf(definition: Definition): {
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
} {
  if ("create" in definition) return {};
  const { shortNames = [], categories = [] } = definition;
  return { ...(shortNames.length > 0 && { shortNames }), ...(categories.length > 0 && { categories }) };
}

interface DiscoveredSubresource {
  readonly name: string;
  /** Group and version are empty if they are the same as the document's (upstream: `ConvertGroupVersionIntoToDiscovery`). */
  readonly responseKind: GroupVersionKind;
  readonly verbs: readonly string[];
}

function subresourcesOf(definition: Definition): DiscoveredSubresource[] {
  if ("create" in definition) return [];
  return Object.entries(definition.subresources ?? {})
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, subresource]) => {
      const { group, version, kind } = subresource.type === "create" ? subresource : definition;
      const isOwn = group === definition.group && version === definition.version;
      const responseKind = isOwn ? ownResponseKind(kind) : { group, version, kind };
      return { name, responseKind, verbs: [...verbsOfSubresource(definition, name)].sort() };
    });
}

const ownResponseKind = (kind: string): GroupVersionKind => ({ group: "", version: "", kind });

/** Upstream's hash of a kind's storage version: the first 8 bytes of SHA-256. */
function storageVersionHash(definition: Definition): string {
  const { group, version } = storedAs(definition);
  const hash = createHash("sha256").update(`${group}/${version}/${definition.kind}`);
  return hash.digest().subarray(0, 8).toString("base64");
}

// ---- aggregated ---------------------------------------------------------------------------------

const isAggregated = ({ kind, version, group }: RequestedConversion): boolean =>
  group === discoveryGroup && kind === discoveryKind && version === discoveryVersion;

/** Returns the aggregated discovery of some groups to a client that asks for it in any clause of the Accept header. */
function withAggregated(plain: PathRoute, groups: readonly Group[]): PathRoute {
  const negotiate = documentNegotiator({ isConversionAllowed: isAggregated, isConversionRequired: true });
  const documents = computedOnce(taggedDocuments);
  const document = aggregated(groups);
  return {
    ...plain,
    handle: (request) => {
      const agreed = negotiate(request.headers);
      if (!agreed) return plain.handle(request);
      const response = taggedResponse(request, documents(document)[agreed.format]);
      response.headers["cache-control"] = "public";
      return response;
    },
  };
}

const encodeAggregated = documentEncoder(apiGroupDiscoveryListSchema);

/** The document in every format. All have the tag of the JSON, as upstream's have. */
function taggedDocuments(document: Document): Readonly<Record<Format, TaggedDocument>> {
  const contentType = (format: Format): string =>
    `${contentTypes[format]};g=${discoveryGroup};v=${discoveryVersion};as=${discoveryKind}`;
  const json = taggedDocument(document, contentType("json"));
  return {
    json,
    yaml: { ...json, contentType: contentType("yaml"), bytes: Buffer.from(writeYaml(document)) },
    protobuf: { ...json, contentType: contentType("protobuf"), bytes: encodeAggregated(document) },
  };
}

const aggregated = (groups: readonly Group[]): Document => ({
  kind: discoveryKind,
  apiVersion: `${discoveryGroup}/${discoveryVersion}`,
  metadata: {},
  items: groups.map(({ name, versions }) => ({
    metadata: name === "" ? {} : { name },
    versions: versions.map(({ version: groupsVersion, definitions }) => ({
      version: groupsVersion,
      resources: definitions.map(aggregatedResource),
      freshness: "Current",
    })),
  })),
});

function aggregatedResource(definition: Definition): object {
  const { kind, plural, scope } = definition;
  const subresources = subresourcesOf(definition).map(({ name, responseKind, verbs }) => ({
    subresource: name,
    responseKind,
    verbs,
  }));
  return {
    resource: plural,
    responseKind: ownResponseKind(kind),
    scope,
    singularResource: singularOf(definition),
    verbs: [...verbsOf(definition)].sort(),
    ...namesOf(definition),
    ...(subresources.length > 0 && { subresources }),
  };
}
