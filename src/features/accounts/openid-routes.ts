import type { DiscoveryDocument, DiscoveryDocuments } from "./tokens/discovery-documents.ts";
import type { PathRoute, PathRoutes } from "../../machinery/http/path-routes.ts";

/**
 * The documents where relying parties find the issuer's keys. They are read on each request, because keys may change
 * while the server runs.
 */
export function openIdRoutes(documents: () => DiscoveryDocuments): PathRoutes {
  const { configuration, keys } = documents();
  const route = (contentType: string, document: () => DiscoveryDocument): PathRoute => ({
    methods: "get",
    produces: [contentType],
    handle: () => {
      const { cacheControl, body } = document();
      return { status: 200, headers: { "content-type": contentType, "cache-control": cacheControl }, body };
    },
  });
  return new Map([
    ["/.well-known/openid-configuration", route(configuration.contentType, () => documents().configuration)],
    ["/openid/v1/jwks", route(keys.contentType, () => documents().keys)],
  ]);
}
