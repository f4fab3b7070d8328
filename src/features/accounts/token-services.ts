import type { Clock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { TokenKeys, VerificationKeys } from "./keys/token-keys.ts";
import type { AccountSettings } from "./settings.ts";
import { createSecretTokenIssuer, createSecretTokenVerifier } from "./tokens/secret-tokens.ts";
import { createServiceAccountTokenVerifier } from "./tokens/service-account-tokens.ts";
import { createTokenIssuer } from "./tokens/token-issuer.ts";
import { discoveryDocuments } from "./tokens/discovery-documents.ts";
import type { DiscoveryDocuments } from "./tokens/discovery-documents.ts";
import type { IssueToken } from "./tokens/token-issuer.ts";
import type { TokenObjects } from "./tokens/token-objects.ts";
import type { VerifyToken } from "../../machinery/authentication/token-authentication.ts";

/** Everything that issues, verifies and publishes tokens. */
export interface TokenServices {
  /** New tokens get the first one, all are accepted. */
  readonly issuers: readonly string[];
  readonly apiAudiences: readonly string[];
  readonly issueToken: IssueToken;
  /** For Secrets of the type service-account-token. */
  readonly issueSecretToken: ReturnType<typeof createSecretTokenIssuer>;
  /** In the order in which they are tried. */
  readonly verifiers: readonly VerifyToken[];
  /** The documents for relying parties. `keysUrl` is where they find the keys. */
  discovery(keysUrl: string): DiscoveryDocuments;
}

export interface TokenServicesOptions {
  readonly settings: AccountSettings;
  readonly names: Names;
  readonly clock: Clock;
  readonly objects: TokenObjects;
  readonly keys: TokenKeys;
}

interface Published {
  readonly keys: VerificationKeys;
  readonly keysUrl: string;
  readonly documents: DiscoveryDocuments;
}

/** The default issuer (upstream's conventional in-cluster name). */
const defaultIssuer = (names: Names): string =>
  `https://${names.profile === "kubernetes" ? "kubernetes" : "platform"}.default.svc`;

/** Connects the token keys with what issues and verifies tokens. */
export function openTokenServices({ settings, names, clock, objects, keys }: TokenServicesOptions): TokenServices {
  const issuers = settings.issuers.length > 0 ? settings.issuers : [defaultIssuer(names)];
  const issuer = issuers[0] ?? "";
  const apiAudiences = settings.apiAudiences.length > 0 ? settings.apiAudiences : issuers;
  let published: Published | undefined;
  return {
    issuers,
    apiAudiences,
    issueToken: createTokenIssuer({ keys, issuer, claimName: names.tokenClaim, clock }),
    issueSecretToken: createSecretTokenIssuer(keys, names),
    verifiers: [
      createServiceAccountTokenVerifier({ names, keys, issuers, apiAudiences, objects, clock }),
      createSecretTokenVerifier({ names, keys, apiAudiences, objects }),
    ],
    discovery(keysUrl) {
      const current = keys.verification();
      if (published?.keys !== current || published.keysUrl !== keysUrl) {
        const documents = discoveryDocuments({ issuer, keysUrl, keys: current.all });
        published = { keys: current, keysUrl, documents };
      }
      return published.documents;
    },
  };
}
