import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { Flags, FlagValues } from "../../machinery/command-line/settings/flag.ts";

export const federationFlags = {
  "authentication-config": {
    type: "file",
    isFollowed: true,
    help:
      "AuthenticationConfiguration (apiserver.config.k8s.io/v1): OpenID Connect issuers whose tokens are accepted, and who " +
      "may be anonymous. Instead of the --oidc flags.",
  },
  "oidc-issuer-url": {
    type: "string",
    help: "URL (https) of an OpenID Connect issuer whose tokens are accepted: their claim iss.",
  },
  "oidc-client-id": { type: "string", help: "The audience that tokens of --oidc-issuer-url must have." },
  "oidc-ca-file": {
    type: "file",
    isFollowed: true,
    help: "PEM bundle of CAs of the issuer's server. Default: the system's CAs.",
  },
  "oidc-username-claim": { type: "string", default: "sub", help: "The claim that becomes the user's name." },
  "oidc-username-prefix": {
    type: "string",
    help: "Put before the user's name. Default: the issuer and #, except for the claim email. - means no prefix.",
  },
  "oidc-groups-claim": {
    type: "string",
    help: "The claim with the user's groups: a string or a list. Default: no groups.",
  },
  "oidc-groups-prefix": { type: "string", help: "Put before each group." },
  "oidc-signing-algs": {
    type: "strings",
    default: ["RS256"],
    choices: ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "EdDSA"],
    help: "Signature algorithms that tokens of --oidc-issuer-url may have.",
  },
  "oidc-required-claim": {
    type: "strings",
    help: "A claim and the value that it must have, as claim=value. May be repeated.",
  },
  "authentication-token-webhook-config-file": {
    type: "file",
    isFollowed: true,
    help: "Kubeconfig whose server (a whole URL) is asked by TokenReview about tokens that nothing else here knows.",
  },
  "authentication-token-webhook-cache-ttl": {
    type: "duration",
    default: "2m",
    help: "How long answers of the webhook are kept. 0s: each request asks.",
  },
  "authentication-token-webhook-version": {
    type: "string",
    default: "v1beta1",
    choices: ["v1beta1", "v1"],
    help: "The version of the TokenReviews that the webhook gets. Signet as a webhook takes v1.",
  },
} as const satisfies Flags;

type Values = FlagValues<typeof federationFlags>;

/** One issuer from the `--oidc` flags. */
export interface OidcFlags {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly authorityFile: string | undefined;
  readonly usernameClaim: string;
  readonly usernamePrefix: string;
  readonly groupsClaim: string | undefined;
  readonly groupsPrefix: string;
  readonly signingAlgorithms: Values["oidc-signing-algs"];
  readonly requiredClaims: readonly (readonly [claim: string, value: string])[];
}

/** Parts that are undefined are off, and their code is not loaded. */
export interface FederationSettings {
  readonly issuers:
    | { readonly type: "file"; readonly file: string }
    | ({ readonly type: "flags" } & OidcFlags)
    | undefined;
  readonly webhook: WebhookSettings | undefined;
}

export interface WebhookSettings {
  /** The kubeconfig of the webhook. */
  readonly file: string;
  readonly cacheMilliseconds: number;
  readonly version: Values["authentication-token-webhook-version"];
}

/** Reads the settings of this feature. Throws UsageError for flags that do not go together. */
export const federationSettings = (values: Values): FederationSettings => ({
  issuers: issuersOf(values),
  webhook: webhookOf(values),
});

function webhookOf(values: Values): WebhookSettings | undefined {
  const file = values["authentication-token-webhook-config-file"];
  if (file === undefined) return undefined;
  return {
    file,
    cacheMilliseconds: values["authentication-token-webhook-cache-ttl"],
    version: values["authentication-token-webhook-version"],
  };
}

function issuersOf(values: Values): FederationSettings["issuers"] {
  const file = values["authentication-config"];
  const issuerUrl = values["oidc-issuer-url"];
  const clientId = values["oidc-client-id"];
  const given = oidcFlagNames.filter((name) => values[name] !== undefined && values[name].length > 0);
  if (file !== undefined) {
    if (given.length === 0) return { type: "file", file };
    throw new UsageError(
      `--authentication-config and --${given[0]}: the file and the --oidc flags exclude each other; describe the issuer in ` +
        "the file",
    );
  }
  if (issuerUrl === undefined && clientId === undefined && given.length === 0) return undefined;
  if (issuerUrl === undefined || clientId === undefined) {
    throw new UsageError("--oidc-issuer-url and --oidc-client-id go together: give both");
  }
  return {
    type: "flags",
    issuerUrl,
    clientId,
    authorityFile: values["oidc-ca-file"],
    usernameClaim: values["oidc-username-claim"],
    usernamePrefix: usernamePrefixOf(values, issuerUrl),
    groupsClaim: values["oidc-groups-claim"],
    groupsPrefix: values["oidc-groups-prefix"] ?? "",
    signingAlgorithms: values["oidc-signing-algs"],
    requiredClaims: values["oidc-required-claim"].map(requiredClaimOf),
  };
}

/** The `--oidc` flags without a default. */
const oidcFlagNames = [
  "oidc-issuer-url",
  "oidc-client-id",
  "oidc-ca-file",
  "oidc-username-prefix",
  "oidc-groups-claim",
  "oidc-groups-prefix",
  "oidc-required-claim",
] as const;

/** The prefix of user names, by upstream's rule: names of different issuers stay distinct, and email addresses get no prefix. */
function usernamePrefixOf(values: Values, issuerUrl: string): string {
  const prefix = values["oidc-username-prefix"];
  if (prefix === "-") return "";
  return prefix ?? (values["oidc-username-claim"] === "email" ? "" : `${issuerUrl}#`);
}

function requiredClaimOf(text: string): readonly [string, string] {
  const [claim = "", ...rest] = text.split("=");
  if (claim === "" || rest.length === 0) {
    throw new UsageError(`--oidc-required-claim: ${JSON.stringify(text)} is not claim=value`);
  }
  return [claim, rest.join("=")];
}
