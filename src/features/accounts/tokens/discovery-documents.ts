import type { VerificationKey } from "./token-key.ts";

/** A document that relying parties read without credentials, and keep for `maxAgeSeconds`. */
export interface DiscoveryDocument {
  readonly contentType: string;
  /** For `cache-control`. A new key must be published this long before a token is signed with it. */
  readonly cacheControl: string;
  readonly body: string;
}

export interface DiscoveryDocuments {
  /** At `/.well-known/openid-configuration` (OpenID Connect Discovery 1.0 section 3). */
  readonly configuration: DiscoveryDocument;
  /** At `/openid/v1/jwks` (RFC 7517 section 5). */
  readonly keys: DiscoveryDocument;
}

export interface DiscoveryOptions {
  readonly issuer: string;
  /** Where relying parties find the keys, a whole URL. */
  readonly keysUrl: string;
  readonly keys: readonly VerificationKey[];
}

const cacheControl = "public, max-age=3600";

/** Makes both documents once; they change only with the keys. Only public members of keys are in them. */
export function discoveryDocuments({ issuer, keysUrl, keys }: DiscoveryOptions): DiscoveryDocuments {
  const algorithms = [...new Set(keys.map((key) => key.algorithm))].toSorted();
  return {
    configuration: {
      contentType: "application/json",
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
      contentType: "application/jwk-set+json",
      cacheControl,
      body: JSON.stringify({ keys: keys.map((key) => key.jwk) }),
    },
  };
}
