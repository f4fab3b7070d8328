import type { Flags, FlagValues } from "../../machinery/command-line/flag.ts";

export const accountFlags = {
  "service-account-issuer": {
    type: "strings",
    help: "Issuer of tokens; the first issues, all are accepted. Default: https://<name>.default.svc.",
  },
  "api-audiences": { type: "strings", help: "Audiences of the API server. Default: the issuers." },
  "service-account-signing-key-file": {
    type: "file",
    help: "PEM private key that signs tokens (EC, RSA or Ed25519). Default: a P-256 key is made.",
  },
  "service-account-key-file": {
    type: "strings",
    help: "PEM files of keys that verify tokens, besides the signing key's. May be repeated.",
  },
  "service-account-max-token-expiration": {
    type: "duration",
    help: "The longest lifetime of an issued token; a longer request is shortened with a warning.",
  },
  "service-account-extend-token-expiration": {
    type: "boolean",
    default: true,
    help: "Pod tokens of 3607 s for the API audiences are issued for a year, with a warnafter claim.",
  },
  "service-account-public-discovery": {
    type: "boolean",
    default: false,
    help: "Everyone may read the issuer's discovery documents, without credentials.",
  },
} as const satisfies Flags;

export interface AccountSettings {
  /** Where a key is made when none is given. */
  readonly dataDirectory: string;
  /** The first issues tokens, all are accepted. Empty: the profile's own. */
  readonly issuers: readonly string[];
  /** Empty: the issuers. */
  readonly apiAudiences: readonly string[];
  readonly signingKeyFile: string | undefined;
  readonly verificationKeyFiles: readonly string[];
  readonly maximumTokenExpirationSeconds: number | undefined;
  readonly isTokenExpirationExtended: boolean;
  /** The issuer's documents are open to callers without credentials. */
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
