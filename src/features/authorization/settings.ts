import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { Flags, FlagValues } from "../../machinery/command-line/settings/flag.ts";
import type { MatchCondition } from "./webhook/match-conditions.ts";

export const authorizationFlags = {
  "authorization-mode": {
    type: "strings",
    choices: ["AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"],
    help: "Authorizers, in the order in which they are asked. Default: Node,RBAC. AlwaysAllow is for development only.",
  },
  "authorization-config": {
    type: "file",
    isFollowed: true,
    help:
      "AuthorizationConfiguration (apiserver.config.k8s.io/v1): the authorizers in their order, and webhooks with their " +
      "conditions. Instead of --authorization-mode and the --authorization-webhook flags.",
  },
  "authorization-webhook-config-file": {
    type: "file",
    isFollowed: true,
    help: "Kubeconfig whose server (a whole URL) is asked by SubjectAccessReview, for the mode Webhook.",
  },
  "authorization-webhook-version": {
    type: "string",
    choices: ["v1beta1", "v1"],
    help: "The version of the SubjectAccessReviews that the webhook gets. Default: v1beta1. Signet as a webhook takes v1.",
  },
  "authorization-webhook-cache-authorized-ttl": {
    type: "duration",
    help: "How long answers of the webhook that allow are kept. Default: 5m. 0s: each request asks.",
  },
  "authorization-webhook-cache-unauthorized-ttl": {
    type: "duration",
    help: "How long answers of the webhook that do not allow are kept. Default: 30s. 0s: each request asks.",
  },
} as const satisfies Flags;

type Values = FlagValues<typeof authorizationFlags>;

/** The types of built-in authorizers. Each is used at most once. */
export type BuiltInAuthorizer = Exclude<Values["authorization-mode"][number], "Webhook">;

/** A webhook that makes decisions. */
export interface WebhookAuthorizerSettings {
  /** The kubeconfig for the webhook. Undefined: the API of the cluster that the server runs in, with its Pod's token. */
  readonly kubeconfig: string | undefined;
  /** The timeout of all attempts together. */
  readonly timeoutMilliseconds: number;
  readonly version: "v1" | "v1beta1";
  /** How long such decisions are cached. 0: not at all. */
  readonly authorizedMilliseconds: number;
  readonly unauthorizedMilliseconds: number;
  /** The decision when the webhook does not answer. */
  readonly onFailure: "noOpinion" | "deny";
  /** Which requests are sent to the webhook. Undefined: all of them. */
  readonly condition: MatchCondition | undefined;
}

/** A built-in authorizer. The server identifies it by its type. */
export interface NamedBuiltIn {
  readonly type: BuiltInAuthorizer;
  readonly name: string;
}

export type ConfiguredAuthorizer =
  | NamedBuiltIn
  | { readonly type: "Webhook"; readonly name: string; readonly webhook: WebhookAuthorizerSettings };

/** The authorizers in their order, or the file that configures them. */
export type AuthorizationSettings =
  | { readonly type: "file"; readonly file: string }
  | { readonly type: "built in"; readonly authorizers: readonly NamedBuiltIn[] }
  | {
      readonly type: "webhook";
      readonly authorizers: readonly ConfiguredAuthorizer[];
      readonly kubeconfig: string;
    };

const defaultModes: Values["authorization-mode"] = ["Node", "RBAC"];
const webhookFlags = [
  "authorization-webhook-config-file",
  "authorization-webhook-version",
  "authorization-webhook-cache-authorized-ttl",
  "authorization-webhook-cache-unauthorized-ttl",
] as const;

/**
 * Reads the settings of this feature. Throws UsageError for flags that do not go together (upstream:
 * `BuiltInAuthorizationOptions.Validate`).
 */
export function authorizationSettings(values: Values): AuthorizationSettings {
  const file = values["authorization-config"];
  const givenModes = values["authorization-mode"];
  const givenWebhookFlag = webhookFlags.find((name) => values[name] !== undefined);
  if (file !== undefined) {
    if (givenModes.length === 0 && givenWebhookFlag === undefined) return { type: "file", file };
    throw new UsageError(
      "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are " +
        "defined; describe the authorizers in the file",
    );
  }
  const modes = givenModes.length > 0 ? givenModes : defaultModes;
  if (new Set(modes).size < modes.length) {
    throw new UsageError(`--authorization-mode: ${modes.join(",")} has mode specified more than once`);
  }
  const builtIn = modes.filter((type) => type !== "Webhook");
  if (builtIn.length === modes.length) {
    if (givenWebhookFlag === undefined) return { type: "built in", authorizers: builtIn.map(named) };
    throw new UsageError(`--${givenWebhookFlag} needs the mode Webhook: add it to --authorization-mode`);
  }
  const kubeconfig = values["authorization-webhook-config-file"];
  if (kubeconfig === undefined) {
    throw new UsageError("--authorization-mode Webhook needs --authorization-webhook-config-file");
  }
  const webhook = webhookOf(values, kubeconfig);
  return {
    type: "webhook",
    authorizers: modes.map((type) => (type === "Webhook" ? { type, name: "default", webhook } : named(type))),
    kubeconfig,
  };
}

const named = (type: BuiltInAuthorizer): NamedBuiltIn => ({ type, name: type.toLowerCase() });

/** Upstream's default durations, for the flags and the file. */
export const defaultWebhookMilliseconds = { timeout: 30_000, authorized: 300_000, unauthorized: 30_000 };

const webhookOf = (values: Values, kubeconfig: string): WebhookAuthorizerSettings => ({
  kubeconfig,
  timeoutMilliseconds: defaultWebhookMilliseconds.timeout,
  version: values["authorization-webhook-version"] ?? "v1beta1",
  authorizedMilliseconds: values["authorization-webhook-cache-authorized-ttl"] ?? defaultWebhookMilliseconds.authorized,
  unauthorizedMilliseconds:
    values["authorization-webhook-cache-unauthorized-ttl"] ?? defaultWebhookMilliseconds.unauthorized,
  onFailure: "noOpinion",
  condition: undefined,
});
