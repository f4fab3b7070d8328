import { join } from "node:path";
import type { Clock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { AccountSettings } from "./settings.ts";
import { writePrivateFile } from "../../machinery/files/atomic-file.ts";
import { readPrivateFile } from "../../machinery/files/private-file.ts";
import { createSecretTokenIssuer, createSecretTokenVerifier } from "./tokens/secret-tokens.ts";
import { createServiceAccountTokenVerifier } from "./tokens/service-account-tokens.ts";
import { createTokenIssuer } from "./tokens/token-issuer.ts";
import { discoveryDocuments } from "./tokens/discovery-documents.ts";
import { distinctKeys, generateSigningKeyPem, parseSigningKey, parseVerificationKeys } from "./tokens/token-key.ts";
import type { DiscoveryDocuments } from "./tokens/discovery-documents.ts";
import type { GeneratedAlgorithm, SigningKey } from "./tokens/token-key.ts";
import type { IssueToken } from "./tokens/token-issuer.ts";
import type { TokenObjects } from "./tokens/token-objects.ts";
import type { VerifyToken } from "../../machinery/authentication/token-authentication.ts";
import { parseSettingsFile } from "../../machinery/command-line/settings-files.ts";

/** All token services that depend on the settings and the data directory. */
export interface TokenServices {
  /** New tokens get the first one, all are accepted. */
  readonly issuers: readonly string[];
  readonly apiAudiences: readonly string[];
  readonly issueToken: IssueToken;
  /** For Secrets of the type service-account-token. */
  readonly issueSecretToken: ReturnType<typeof createSecretTokenIssuer>;
  /** The `kid` of the key that signs new tokens, and of all keys that verify tokens. */
  readonly signingKeyId: string;
  readonly verificationKeyIds: readonly string[];
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
}

/** The default issuer (upstream's conventional in-cluster name). */
const defaultIssuer = (names: Names): string =>
  `https://${names.profile === "kubernetes" ? "kubernetes" : "platform"}.default.svc`;

/** Reads or generates the keys. Throws UsageError for a file without a key. */
export function openTokenServices({ settings, names, clock, objects }: TokenServicesOptions): TokenServices {
  const { key, previous } = signingKeys(settings);
  const keys = distinctKeys([
    key,
    ...previous,
    ...settings.verificationKeyFiles.flatMap((file) =>
      parseSettingsFile("service-account-key-file", file, parseVerificationKeys),
    ),
  ]);
  const issuers = settings.issuers.length > 0 ? settings.issuers : [defaultIssuer(names)];
  const issuer = issuers[0] ?? "";
  const apiAudiences = settings.apiAudiences.length > 0 ? settings.apiAudiences : issuers;
  return {
    issuers,
    apiAudiences,
    signingKeyId: key.kid,
    verificationKeyIds: keys.map(({ kid }) => kid),
    issueToken: createTokenIssuer({ key, issuer, claimName: names.tokenClaim, clock }),
    issueSecretToken: createSecretTokenIssuer(key, names),
    verifiers: [
      createServiceAccountTokenVerifier({ names, keys, issuers, apiAudiences, objects, clock }),
      createSecretTokenVerifier({ names, keys, apiAudiences, objects }),
    ],
    discovery: (keysUrl) => discoveryDocuments({ issuer, keysUrl, keys }),
  };
}

/** Where the keys are that are made, by their algorithms. */
const generatedKeyFiles = {
  ES256: "service-account.key",
  RS256: "service-account-rs256.key",
} as const satisfies Record<GeneratedAlgorithm, string>;

interface SigningKeys {
  readonly key: SigningKey;
  /** Those that were made before, and may have signed what is still valid. */
  readonly previous: readonly SigningKey[];
}

function signingKeys({ dataDirectory, signingKey }: AccountSettings): SigningKeys {
  if ("file" in signingKey) {
    const key = parseSettingsFile("service-account-signing-key-file", signingKey.file, parseSigningKey);
    return { key, previous: [] };
  }
  const kept = (algorithm: GeneratedAlgorithm): SigningKey | undefined => {
    const pem = readPrivateFile(join(dataDirectory, generatedKeyFiles[algorithm]));
    return pem === undefined ? undefined : parseSigningKey(pem);
  };
  const { algorithm } = signingKey;
  const previous = (["ES256", "RS256"] as const)
    .filter((other) => other !== algorithm)
    .flatMap((other) => kept(other) ?? []);
  const own = kept(algorithm);
  if (own !== undefined) return { key: own, previous };
  const made = generateSigningKeyPem(algorithm);
  writePrivateFile(join(dataDirectory, generatedKeyFiles[algorithm]), made);
  return { key: parseSigningKey(made), previous };
}
