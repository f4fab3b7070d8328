import type { HttpRequest, HttpResponse } from "../../api/http-message.ts";
import { taggedDocument, taggedResponse } from "./document-route.ts";
import type { TaggedDocument } from "./document-route.ts";
import { contentTypes } from "../negotiation.ts";
import type { PathRoute, PathRoutes } from "./path-routes.ts";
import { apiPathOf } from "../../api/resource-type.ts";
import { LongWork } from "../../scheduling/long-work.ts";
import { openApiV2, openApiV3 } from "../../schema/openapi/openapi.ts";
import type { ApiDescription } from "../../schema/openapi/openapi.ts";
import { encodeOpenApiV2 } from "../../schema/openapi/openapi-v2-protobuf.ts";
import { parametersOf } from "../../registry/query-values.ts";

/**
 * The type that clients ask for. Answers have the other type: this one is no valid media type (RFC 9110 does not allow `@`), so Go clients
 * could not parse it.
 */
const version2ProtobufAsked = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const version2ProtobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/** The content at a path with the right hash never changes: cache it for a year, in seconds. */
const immutableSeconds = 31_536_000;

/**
 * `/openapi/v3` (the index with a hash of each document), the documents below it, and `/openapi/v2`. Each document is made on first use,
 * the long ones in turns of the event loop.
 */
export function openApiRoutes(api: ApiDescription): PathRoutes {
  const documents = new Map<string, () => TaggedDocument>();
  for (const { group, version } of [...api.resources, ...api.reviews]) {
    documents.set(
      apiPathOf({ group, version }).slice(1),
      once(() => taggedDocument(openApiV3(api, { group, version }), contentTypes.json)),
    );
  }
  const version2 = once(async () => {
    const work = new LongWork();
    const description = openApiV2(api);
    await work.pause();
    return taggedDocument(description, contentTypes.json);
  });
  const version2Protobuf = once(async () => {
    const work = new LongWork();
    const { tag } = await version2();
    await work.pause();
    const bytes = await encodeOpenApiV2(openApiV2(api), () => work.pause());
    return { contentType: version2ProtobufType, bytes, tag: `${tag}-PB` };
  });
  const index = once(async () => {
    const paths: Record<string, { readonly serverRelativeURL: string }> = {};
    await new LongWork().each(documents, ([path, document]) => {
      paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${document().tag}` };
    });
    return taggedDocument({ paths }, contentTypes.json);
  });

  const routes = new Map<string, PathRoute>([
    ["/openapi/v3", { methods: "any", handle: async (request) => taggedResponse(request, await index()) }],
    [
      "/openapi/v2",
      {
        methods: "any",
        handle: async (request) =>
          taggedResponse(request, await (asksForProtobuf(request) ? version2Protobuf() : version2())),
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
  const hash = parametersOf(request.query).get("hash");
  if (hash !== null && hash !== document.tag) {
    return { status: 301, headers: { location: `/openapi/v3/${path}?hash=${document.tag}` }, body: "" };
  }
  const response = taggedResponse(request, document);
  if (hash !== null) response.headers["cache-control"] = `public, immutable, max-age=${immutableSeconds}`;
  return response;
}

const asksForProtobuf = (request: HttpRequest): boolean =>
  [version2ProtobufAsked, version2ProtobufType].some((type) => String(request.headers["accept"] ?? "").includes(type));

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
