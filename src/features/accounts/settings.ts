import type { Flags, FlagValues } from "../../machinery/command-line/flag.ts";

export const accountFlags = {
  "service-account-issuer": {
    type: "strings",
    help: "Issuer of tokens. New tokens get the first one, all are accepted. Default: https://<name>.default.svc.",
  },
  "api-audiences": { type: "strings", help: "Audiences of the API server. Default: the issuers." },
  "service-account-signing-key-file": {
    type: "file",
    help: "PEM private key that signs tokens (EC, RSA or Ed25519). Default: a generated P-256 key.",
  },
  "service-account-key-file": {
    type: "strings",
    help: "PEM files of keys that verify tokens, in addition to the signing key. May be repeated.",
  },
  "service-account-max-token-expiration": {
    type: "duration",
    help: "The maximum lifetime of an issued token. Longer requests are shortened, with a warning.",
  },
  "service-account-extend-token-expiration": {
    type: "boolean",
    default: true,
    help: "Extend Pod tokens of 3607 s for the API audiences to one year, with a warnafter claim.",
  },
  "service-account-public-discovery": {
    type: "boolean",
    default: false,
    help: "Serve the issuer's discovery documents without authentication.",
  },
} as const satisfies Flags;

export interface AccountSettings {
  /** The directory for a generated key. */
  readonly dataDirectory: string;
  /** New tokens get the first one, all are accepted. Empty: the default of the naming profile. */
  readonly issuers: readonly string[];
  /** Empty: the issuers. */
  readonly apiAudiences: readonly string[];
  readonly signingKeyFile: string | undefined;
  readonly verificationKeyFiles: readonly string[];
  readonly maximumTokenExpirationSeconds: number | undefined;
  readonly isTokenExpirationExtended: boolean;
  /** Whether the issuer's documents need no authentication. */
  readonly isDiscoveryPublic: boolean;
}

export function accountSettings(values: FlagValues<typeof accountFlags>, dataDirectory: string): AccountSettings {
  const maximumMilliseconds = values["service-account-max-token-expiration"];
  return {
    dataDirectory,
    issuers: values["service-account-issuer"],
    apiAudiences: values["api-audiences"],
    signingKeyFile: values["service-account-signing-key-file"],
    verificationKeyFiles: values["service-account-key-file"],
    maximumTokenExpirationSeconds:
      maximumMilliseconds === undefined ? undefined : Math.floor(maximumMilliseconds / 1000),
    isTokenExpirationExtended: values["service-account-extend-token-expiration"],
    isDiscoveryPublic: values["service-account-public-discovery"],
  };
}
