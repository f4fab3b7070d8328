import type { VerificationKey } from "./token-key.ts";
import { routeAccepts } from "../../../machinery/http/accept-header.ts";
import type { PathRoute, PathRoutes } from "../../../machinery/http/routes/path-routes.ts";

/** A document that relying parties read. */
interface DiscoveryDocument {
  /** The value of `cache-control`. A new key must be published at least this long before it signs a token. */
  readonly cacheControl: string;
  readonly body: string;
}

export interface DiscoveryDocuments {
  /** At `/.well-known/openid-configuration` (OpenID Connect Discovery 1.0 section 3). */
  readonly configuration: DiscoveryDocument;
  /** At `/openid/v1/jwks` (RFC 7517 section 5). */
  readonly keys: DiscoveryDocument;
}

interface IssuerDocumentsOptions {
  readonly issuer: string;
  /** The complete URL where relying parties find the keys. */
  readonly keysUrl: string;
  readonly keys: readonly VerificationKey[];
  /** How long relying parties may cache the documents. */
  readonly cacheSeconds: number;
}

/** Creates both documents, for all requests until the keys change. They contain only public members of keys. */
export function discoveryDocuments({
  issuer,
  keysUrl,
  keys: all,
  cacheSeconds,
}: IssuerDocumentsOptions): DiscoveryDocuments {
  const cacheControl = `public, max-age=${cacheSeconds}`;
  const keys = all.filter(({ isUnpublished }) => isUnpublished !== true);
  const algorithms = [...new Set(keys.map((key) => key.algorithm))].toSorted();
  return {
    configuration: {
      cacheControl,
      body: JSON.stringify({
        issuer,
        jwks_uri: keysUrl,
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: algorithms,
      }),
    },
    keys: {
      cacheControl,
      body: JSON.stringify({ keys: keys.map((key) => key.jwk) }),
    },
  };
}

/**
 * Routes to the documents in which relying parties find the issuer's keys. `documents` is called for each request, because keys may change
 * while the server runs.
 */
export function openIdRoutes(documents: () => DiscoveryDocuments): PathRoutes {
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
    ["/.well-known/openid-configuration", route(["application/json"], () => documents().configuration)],
    // Many OpenID libraries accept only JSON. A key set is JSON, but upstream answers them with 406.
    ["/openid/v1/jwks", route(["application/jwk-set+json", "application/json"], () => documents().keys)],
  ]);
}
