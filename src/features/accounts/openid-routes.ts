import type { DiscoveryDocument, DiscoveryDocuments } from "./tokens/discovery-documents.ts";
import { routeAccepts } from "../../machinery/http/accept-header.ts";
import type { PathRoute, PathRoutes } from "../../machinery/http/path-routes.ts";

/**
 * The documents where relying parties find the issuer's keys. They are read on each request, because keys may change
 * while the server runs.
 */
export function openIdRoutes(documents: () => DiscoveryDocuments): PathRoutes {
  const { configuration, keys } = documents();
  const route = (contentTypes: readonly [string, ...string[]], document: () => DiscoveryDocument): PathRoute => ({
    methods: "get",
    produces: contentTypes,
    handle: ({ headers: { accept = "" } }) => {
      const { cacheControl, body } = document();
      const [preferred] = contentTypes;
      const contentType = contentTypes.find((one) => accept === "" || routeAccepts(String(accept), [one])) ?? preferred;
      return { status: 200, headers: { "content-type": contentType, "cache-control": cacheControl }, body };
    },
  });
  return new Map([
    ["/.well-known/openid-configuration", route([configuration.contentType], () => documents().configuration)],
    // Many OpenID libraries ask for JSON, which a key set is; upstream answers them 406.
    ["/openid/v1/jwks", route([keys.contentType, "application/json"], () => documents().keys)],
  ]);
}
