import { computedOnce } from "../../api/computed-once.ts";
import { contentTypes, documentNegotiator } from "../negotiation.ts";
import type { Format, RequestedConversion } from "../negotiation.ts";
import { verbsOf } from "../served-resources.ts";
import type { Definition } from "../served-resources.ts";
import { writeYaml } from "../yaml/write-yaml.ts";
import { shortNamesAndCategories, ownResponseKind, singularOf, subresourcesOf } from "./discovery-groups.ts";
import type { DiscoveryGroup } from "./discovery-groups.ts";
import { apiGroupDiscoveryListSchema } from "./discovery-schemas.ts";
import { documentEncoder, taggedDocument, taggedResponse } from "./document-route.ts";
import type { Document, TaggedDocument } from "./document-route.ts";
import type { PathRoute } from "./path-routes.ts";

const discoveryGroup = "apidiscovery.k8s.io";
const discoveryKind = "APIGroupDiscoveryList";
const discoveryVersion = "v2";

const isAggregated = ({ kind, version, group }: RequestedConversion): boolean =>
  group === discoveryGroup && kind === discoveryKind && version === discoveryVersion;

/** Returns the aggregated discovery of some groups to a client that asks for it in any clause of the Accept header. */
export function withAggregated(plain: PathRoute, groups: readonly DiscoveryGroup[]): PathRoute {
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

const aggregated = (groups: readonly DiscoveryGroup[]): Document => ({
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
    ...shortNamesAndCategories(definition),
    ...(subresources.length > 0 && { subresources }),
  };
}
