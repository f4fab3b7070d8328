import type { HttpRequest, HttpResponse } from "../api/http-message.ts";
import { taggedDocument, taggedResponse } from "./document-route.ts";
import type { TaggedDocument } from "./document-route.ts";
import { contentTypes } from "./negotiation.ts";
import type { PathRoute, PathRoutes } from "./path-routes.ts";
import type { Names } from "../api/names.ts";
import { apiPathOf } from "../api/resource-type.ts";
import { openApiV2, openApiV3 } from "../schema/openapi.ts";
import type { DescribedResource } from "../schema/openapi.ts";
import { encodeOpenApiV2 } from "../schema/openapi-v2-protobuf.ts";

interface OpenApiInput {
  readonly names: Names;
  readonly version: string;
  readonly resources: readonly DescribedResource[];
  readonly reviews: readonly DescribedResource[];
}

/** The OpenAPI documents of the served resources. Each is created on first use. */
export function openApiSource(input: OpenApiInput): OpenApiSource {
  const groupVersions = new Map(
    [...input.resources, ...input.reviews].map(({ group, version }) => [
      apiPathOf({ group, version }).slice(1),
      { group, version },
    ]),
  );
  return {
    groupVersionPaths: [...groupVersions.keys()],
    version3(path) {
      const groupVersion = groupVersions.get(path);
      if (groupVersion === undefined) throw new RangeError(`no API at ${path}`);
      return openApiV3(input, groupVersion);
    },
    version2: () => openApiV2(input),
    version2Protobuf: () => encodeOpenApiV2(openApiV2(input)),
  };
}

/** Creates each OpenAPI document once, on first use. */
export interface OpenApiSource {
  /** The paths of the group versions, such as `api/v1` or `apis/GROUP/VERSION`. */
  readonly groupVersionPaths: readonly string[];
  /** The OpenAPI 3 document for one of those paths. */
  version3(groupVersionPath: string): object;
  /** The OpenAPI 2 document of the whole API. */
  version2(): object;
  /** The same document in gnostic's protobuf encoding, if available. */
  version2Protobuf?(): Buffer;
}

/**
 * The type that clients ask for. It is not a valid media type (RFC 9110 does not allow `@`), so Go cannot parse it in
 * an answer.
 */
const version2ProtobufAsked = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const version2ProtobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/** The content at a path with the right hash never changes: cache it for a year, in seconds. */
const immutableSeconds = 31_536_000;

/** `/openapi/v3` (the index with a hash of each document), the documents below it, and `/openapi/v2`. */
export function openApiRoutes(source: OpenApiSource): PathRoutes {
  const documents = new Map<string, () => TaggedDocument>();
  for (const path of source.groupVersionPaths) {
    documents.set(
      path,
      once(() => taggedDocument(source.version3(path), contentTypes.json)),
    );
  }
  const version2 = once(() => taggedDocument(source.version2(), contentTypes.json));
  const version2Protobuf = once(() => protobufDocument(source, version2().tag));
  const index = once(() => {
    const entries = [...documents].map(([path, document]) => [
      path,
      { serverRelativeURL: `/openapi/v3/${path}?hash=${document().tag}` },
    ]);
    return taggedDocument({ paths: Object.fromEntries(entries) }, contentTypes.json);
  });

  const routes = new Map<string, PathRoute>([
    ["/openapi/v3", { methods: "any", handle: (request) => taggedResponse(request, index()) }],
    [
      "/openapi/v2",
      {
        methods: "any",
        handle: (request) => taggedResponse(request, (asksForProtobuf(request) && version2Protobuf()) || version2()),
      },
    ],
  ]);
  for (const [path, document] of documents) {
    routes.set(`/openapi/v3/${path}`, {
      methods: "any",
      handle: (request) => hashedResponse(request, { path, document: document() }),
    });
  }
  return routes;
}

/** A path with the current hash may be cached forever. A path with an old hash is redirected to the current one. */
function hashedResponse(
  request: HttpRequest,
  { path, document }: { readonly path: string; readonly document: TaggedDocument },
): HttpResponse {
  const hash = new URLSearchParams(request.query).get("hash");
  if (hash !== null && hash !== document.tag) {
    return { status: 301, headers: { location: `/openapi/v3/${path}?hash=${document.tag}` }, body: "" };
  }
  const response = taggedResponse(request, document);
  if (hash !== null) response.headers["cache-control"] = `public, immutable, max-age=${immutableSeconds}`;
  return response;
}

const asksForProtobuf = (request: HttpRequest): boolean =>
  [version2ProtobufAsked, version2ProtobufType].some((type) => String(request.headers["accept"] ?? "").includes(type));

function protobufDocument(source: OpenApiSource, tag: string): TaggedDocument | undefined {
  const bytes = source.version2Protobuf?.();
  return bytes && { contentType: version2ProtobufType, bytes, tag: `${tag}-PB` };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
