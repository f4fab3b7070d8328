import type { HttpRequest, HttpResponse } from "../api/http-message.ts";
import { taggedDocument, taggedResponse } from "./document-route.ts";
import type { TaggedDocument } from "./document-route.ts";
import { contentTypes } from "./negotiation.ts";
import type { PathRoute, PathRoutes } from "./path-routes.ts";

/** Makes the OpenAPI documents. They are made when first asked for, once. */
export interface OpenApiSource {
  /** The paths of the group versions, as `api/v1` or `apis/GROUP/VERSION`. */
  readonly groupVersionPaths: readonly string[];
  /** The OpenAPI 3 document of one of those paths. */
  version3(groupVersionPath: string): object;
  /** The OpenAPI 2 document of everything. */
  version2(): object;
  /** The same in gnostic's protobuf encoding, if there is one. */
  version2Protobuf?(): Buffer;
}

/** What clients ask for. It is no media type by RFC 9110 (`@`), so that Go refuses to read it in an answer. */
const version2ProtobufAsked = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const version2ProtobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/** Paths with the right hash never change: a year, in seconds. */
const immutableSeconds = 31_536_000;

/** `/openapi/v3`, the index with a hash of each document, the documents below it, and `/openapi/v2`. */
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
    ["/openapi/v3", { methods: "get", handle: (request) => taggedResponse(request, index()) }],
    [
      "/openapi/v2",
      {
        methods: "get",
        handle: (request) => taggedResponse(request, (asksForProtobuf(request) && version2Protobuf()) || version2()),
      },
    ],
  ]);
  for (const [path, document] of documents) {
    routes.set(`/openapi/v3/${path}`, {
      methods: "get",
      handle: (request) => hashedResponse(request, path, document()),
    });
  }
  return routes;
}

/** A path that names the hash may be kept for ever; one that names an old hash is sent on to the new one. */
function hashedResponse(request: HttpRequest, path: string, document: TaggedDocument): HttpResponse {
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
