import type { Clock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { TokenKeys, VerificationKeys } from "./keys/token-keys.ts";
import type { AccountSettings } from "./settings.ts";
import { createSecretTokenIssuer, createSecretTokenVerifier } from "./tokens/secret-tokens.ts";
import type { SecretTokenOptions } from "./tokens/secret-tokens.ts";
import { createServiceAccountTokenVerifier, learningKeys } from "./tokens/service-account-tokens.ts";
import { createTokenIssuer } from "./tokens/token-issuer.ts";
import { discoveryDocuments } from "./tokens/discovery-documents.ts";
import type { DiscoveryDocuments } from "./tokens/discovery-documents.ts";
import type { IssueToken } from "./tokens/token-issuer.ts";
import type { TokenObjects } from "./tokens/token-objects.ts";
import type { VerifyToken } from "../../machinery/authentication/token-authentication.ts";

/** Everything that issues, verifies and publishes tokens. */
export interface TokenServices {
  /** New tokens get the first issuer, and all of them are accepted. */
  readonly issuers: readonly string[];
  readonly apiAudiences: readonly string[];
  readonly issueToken: IssueToken;
  /** Issues tokens for Secrets of the type service-account-token. Undefined when this server can't sign tokens that do not expire. */
  readonly issueSecretToken: ReturnType<typeof createSecretTokenIssuer> | undefined;
  /** The verifiers of tokens, in the order in which they are tried. */
  readonly verifiers: readonly VerifyToken[];
  /** The documents for relying parties. `keysUrl` is where they find the keys. */
  discovery(keysUrl: string): DiscoveryDocuments;
}

interface TokenServicesOptions {
  readonly settings: AccountSettings;
  readonly names: Names;
  readonly clock: Clock;
  readonly objects: TokenObjects;
  readonly keys: TokenKeys;
  readonly onSecretTokenUse: SecretTokenOptions["onUse"];
}

interface Published {
  readonly keys: VerificationKeys;
  readonly keysUrl: string;
  readonly documents: DiscoveryDocuments;
}

/** The default issuer (upstream's conventional in-cluster name). */
const defaultIssuer = (names: Names): string =>
  `https://${names.profile === "kubernetes" ? "kubernetes" : "platform"}.default.svc`;

/** Connects the token keys with the issuers and verifiers of tokens. */
export function openTokenServices({
  settings,
  names,
  clock,
  objects,
  keys,
  onSecretTokenUse,
}: TokenServicesOptions): TokenServices {
  const issuers = settings.issuers.length > 0 ? settings.issuers : [defaultIssuer(names)];
  const issuer = issuers[0] ?? "";
  const apiAudiences = settings.apiAudiences.length > 0 ? settings.apiAudiences : issuers;
  const verifyToken = createServiceAccountTokenVerifier({ names, keys, issuers, apiAudiences, objects, clock });
  let published: Published | undefined;
  return {
    issuers,
    apiAudiences,
    issueToken: createTokenIssuer({ keys, issuer, claimName: names.tokenClaim, clock }),
    // As in upstream, external signers sign only tokens that expire.
    issueSecretToken: "externalSigner" in settings.signingKey ? undefined : createSecretTokenIssuer(keys, names),
    verifiers: [
      "externalSigner" in settings.signingKey ? learningKeys(verifyToken, { keys, issuers }) : verifyToken,
      createSecretTokenVerifier({ names, keys, apiAudiences, objects, onUse: onSecretTokenUse }),
    ],
    discovery(keysUrl) {
      const current = keys.verification();
      if (published?.keys !== current || published.keysUrl !== keysUrl) {
        const { all, cacheSeconds } = current;
        const documents = discoveryDocuments({ issuer, keysUrl, keys: all, cacheSeconds });
        published = { keys: current, keysUrl, documents };
      }
      return published.documents;
    },
  };
}
