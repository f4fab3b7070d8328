import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { parseDuration } from "../../machinery/api/duration.ts";
import { duplicate, invalidValue, notSupported, required } from "../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../machinery/api/validation/field-error.ts";
import { dnsSubdomainFaults } from "../../machinery/api/validation/name-validation.ts";
import {
  parseConfigurationFile,
  refuseFieldErrors,
} from "../../machinery/command-line/settings/parse-configuration-file.ts";
import { compileDecoder } from "../../machinery/schema/compile-decoder.ts";
import { defaultWebhookMilliseconds } from "./settings.ts";
import type { BuiltInAuthorizer, ConfiguredAuthorizer, WebhookAuthorizerSettings } from "./settings.ts";
import { conditionFaults, matchCondition } from "./webhook/match-conditions.ts";
import { atomicList, boolean, object, string } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";
import { always, omitEmpty, pointer, struct } from "../../machinery/schema/struct.ts";

const webhookConfiguration = struct("apiserver.WebhookConfiguration", "How a webhook is asked.", {
  authorizedTTL: pointer(1, string, "How long answers that allow are kept. Default: 5m."),
  cacheAuthorizedRequests: pointer(8, boolean, "Whether answers that allow are kept. Default: true."),
  unauthorizedTTL: pointer(2, string, "How long answers that do not allow are kept. Default: 30s."),
  cacheUnauthorizedRequests: pointer(9, boolean, "Whether answers that do not allow are kept. Default: true."),
  timeout: pointer(3, string, "How long a request waits. At most 30s."),
  subjectAccessReviewVersion: omitEmpty(4, string, "v1 or v1beta1."),
  matchConditionSubjectAccessReviewVersion: omitEmpty(5, string, "The version that conditions read: v1."),
  failurePolicy: omitEmpty(6, string, "What no answer means: NoOpinion or Deny."),
  connectionInfo: always(
    7,
    object({
      goType: "apiserver.WebhookConnectionInfo",
      description: "Where the webhook is.",
      fields: {
        type: omitEmpty(1, string, "KubeConfigFile or InClusterConfig."),
        kubeConfigFile: pointer(2, string, "The absolute path of a kubeconfig."),
      },
    }),
    "Where the webhook is.",
  ),
  matchConditions: omitEmpty(
    10,
    atomicList(
      struct("apiserver.WebhookMatchCondition", "A condition.", {
        expression: omitEmpty(1, string, "CEL on `request`, a SubjectAccessReviewSpec."),
      }),
    ),
    "Only requests that meet all of them are sent.",
  ),
});

const authorizerConfiguration = struct("apiserver.AuthorizerConfiguration", "One authorizer.", {
  type: omitEmpty(1, string, "AlwaysAllow, AlwaysDeny, Node, RBAC or Webhook."),
  name: omitEmpty(2, string, "Its name in metrics and logs."),
  webhook: pointer(3, webhookConfiguration, "For the type Webhook."),
});

/** The file of `--authorization-config` (upstream: `apiserver.config.k8s.io/v1`, the same as v1beta1). */
const authorizationConfigurationSchema = struct(
  "apiserver.AuthorizationConfiguration",
  "Who decides what users may do.",
  {
    apiVersion: omitEmpty(0, string, "apiserver.config.k8s.io/v1"),
    kind: omitEmpty(0, string, "AuthorizationConfiguration"),
    authorizers: omitEmpty(1, atomicList(authorizerConfiguration), "In the order in which they are asked."),
  },
);

type AuthorizerConfiguration = Infer<typeof authorizerConfiguration>;
type WebhookConfiguration = Infer<typeof webhookConfiguration>;

const maximumAuthorizers = 64;
const maximumConditions = 64;
const longestTimeoutMilliseconds = 30_000;
const builtIn: readonly BuiltInAuthorizer[] = ["AlwaysAllow", "AlwaysDeny", "Node", "RBAC"];
const knownTypes = [...builtIn, "Webhook"];
const decode = compileDecoder(authorizationConfigurationSchema);

/**
 * Parses the file of `--authorization-config` (YAML or JSON), with upstream's rules, paths and words
 * (`ValidateAuthorizationConfiguration`). Strict: unknown and repeated fields are faults. Throws an Error that lists the
 * faults, each with its path.
 */
export function parseAuthorizationConfiguration(text: string): readonly ConfiguredAuthorizer[] {
  const { authorizers = [] } = parseConfigurationFile(text, { kind: "AuthorizationConfiguration", decode });
  refuseFieldErrors(() => authorizersFaults(authorizers));
  return authorizers.map(({ type = "", name = "", webhook }) => {
    const found = builtIn.find((one) => one === type);
    return found === undefined
      ? { type: "Webhook", name, webhook: settingsOf(webhook ?? { connectionInfo: {} }) }
      : { type: found, name };
  });
}

function authorizersFaults(authorizers: readonly AuthorizerConfiguration[]): FieldError[] {
  if (authorizers.length === 0) return [required("authorizers", "at least one authorization mode must be defined")];
  if (authorizers.length > maximumAuthorizers) {
    return [
      invalidValue("authorizers", {
        value: authorizers.length,
        detail: `must have at most ${maximumAuthorizers} items`,
      }),
    ];
  }
  const types = new Set<string>();
  const names = new Set<string>();
  return authorizers.flatMap(({ type = "", name = "", webhook }, index) => {
    const at = `authorizers[${index}]`;
    if (type === "") return [required(`${at}.type`, "")];
    if (!knownTypes.includes(type)) return [notSupported(`${at}.type`, { value: type, supported: knownTypes })];
    if (types.has(type) && type !== "Webhook") return [duplicate(`${at}.type`, type)];
    types.add(type);
    const faults = nameFaults(name, { at: `${at}.name`, others: names });
    names.add(name);
    if (type !== "Webhook") {
      return webhook === undefined
        ? faults
        : [
            ...faults,
            invalidValue(`${at}.webhook`, { value: "non-null", detail: "may only be specified when type=Webhook" }),
          ];
    }
    return webhook === undefined
      ? [...faults, required(`${at}.webhook`, "required when type=Webhook")]
      : // Upstream's paths leave out `webhook`.
        [...faults, ...webhookFaults(webhook, at)];
  });
}

function nameFaults(
  name: string,
  { at, others }: { readonly at: string; readonly others: ReadonlySet<string> },
): FieldError[] {
  if (name === "") return [required(at, "")];
  if (others.has(name)) return [duplicate(at, name)];
  const faults = dnsSubdomainFaults(name);
  return faults.length === 0
    ? []
    : [invalidValue(at, { value: name, detail: `authorizer name is invalid: ${faults.join(", ")}` })];
}

type ChoiceField = "subjectAccessReviewVersion" | "matchConditionSubjectAccessReviewVersion" | "failurePolicy";

function webhookFaults(webhook: WebhookConfiguration, at: string): FieldError[] {
  const { timeout, authorizedTTL, unauthorizedTTL, matchConditions = [] } = webhook;
  const { matchConditionSubjectAccessReviewVersion: conditionVersion = "" } = webhook;
  const waits = durationOf(timeout, 0);
  const oneOf = (field: ChoiceField, supported: readonly string[]): FieldError[] => {
    const { [field]: value = "" } = webhook;
    if (value === "") return [required(`${at}.${field}`, "")];
    return supported.includes(value) ? [] : [notSupported(`${at}.${field}`, { value, supported })];
  };
  const conditions = `${at}.matchConditions`;
  return [
    ...(waits === 0
      ? [required(`${at}.timeout`, "")]
      : waits === undefined || waits > longestTimeoutMilliseconds
        ? [invalidValue(`${at}.timeout`, { value: timeout, detail: "must be > 0s and <= 30s" })]
        : []),
    ...ttlFaults(authorizedTTL, `${at}.authorizedTTL`),
    ...ttlFaults(unauthorizedTTL, `${at}.unauthorizedTTL`),
    ...oneOf("subjectAccessReviewVersion", ["v1", "v1beta1"]),
    ...(conditionVersion === "" && matchConditions.length > 0
      ? [required(`${at}.matchConditionSubjectAccessReviewVersion`, "required if match conditions are specified")]
      : conditionVersion === ""
        ? []
        : oneOf("matchConditionSubjectAccessReviewVersion", ["v1"])),
    ...oneOf("failurePolicy", ["NoOpinion", "Deny"]),
    ...connectionFaults(webhook.connectionInfo, `${at}.connectionInfo`),
    ...(matchConditions.length > maximumConditions
      ? [
          invalidValue(conditions, {
            value: matchConditions.length,
            detail: `must have at most ${maximumConditions} items`,
          }),
        ]
      : conditionFaults(expressionsOf(matchConditions), conditions)),
  ];
}

function connectionFaults(
  { type = "", kubeConfigFile }: WebhookConfiguration["connectionInfo"],
  at: string,
): FieldError[] {
  const file = `${at}.kubeConfigFile`;
  if (type === "") return [required(`${at}.type`, "")];
  if (type === "InClusterConfig") {
    const detail = "can only be set when type=KubeConfigFile";
    return kubeConfigFile === undefined ? [] : [invalidValue(file, { value: kubeConfigFile, detail })];
  }
  if (type !== "KubeConfigFile")
    return [notSupported(`${at}.type`, { value: type, supported: ["InClusterConfig", "KubeConfigFile"] })];
  if (kubeConfigFile === undefined || kubeConfigFile === "") return [required(file, "")];
  if (!isAbsolute(kubeConfigFile))
    return [invalidValue(file, { value: kubeConfigFile, detail: "must be an absolute path" })];
  const status = statSync(kubeConfigFile, { throwIfNoEntry: false });
  if (status === undefined)
    return [invalidValue(file, { value: kubeConfigFile, detail: "error loading file: no such file" })];
  return status.isFile() ? [] : [invalidValue(file, { value: kubeConfigFile, detail: "must be a regular file" })];
}

/** The duration of a text in milliseconds. Undefined for a text that is not a duration. */
const durationOf = (text: string | undefined, byDefault: number): number | undefined =>
  text === undefined ? byDefault : parseDuration(text);

const ttlFaults = (text: string | undefined, at: string): FieldError[] =>
  durationOf(text, 1) === undefined ? [invalidValue(at, { value: text, detail: "must be > 0s" })] : [];

type MatchConditions = NonNullable<WebhookConfiguration["matchConditions"]>;

const expressionsOf = (conditions: MatchConditions): string[] => conditions.map(({ expression = "" }) => expression);

function settingsOf(webhook: WebhookConfiguration): WebhookAuthorizerSettings {
  const { authorizedTTL, unauthorizedTTL, timeout, connectionInfo, matchConditions = [] } = webhook;
  const { cacheAuthorizedRequests = true, cacheUnauthorizedRequests = true } = webhook;
  const { timeout: longest, authorized, unauthorized } = defaultWebhookMilliseconds;
  return {
    kubeconfig: connectionInfo.kubeConfigFile,
    timeoutMilliseconds: durationOf(timeout, longest) ?? longest,
    version: webhook.subjectAccessReviewVersion === "v1" ? "v1" : "v1beta1",
    // As in upstream, zero means the default.
    authorizedMilliseconds: cacheAuthorizedRequests ? durationOf(authorizedTTL, 0) || authorized : 0,
    unauthorizedMilliseconds: cacheUnauthorizedRequests ? durationOf(unauthorizedTTL, 0) || unauthorized : 0,
    onFailure: webhook.failurePolicy === "Deny" ? "deny" : "noOpinion",
    condition: matchConditions.length === 0 ? undefined : matchCondition(expressionsOf(matchConditions)),
  };
}
