import { jsonFields } from "../../../machinery/api/json/json-object.ts";
import type { AuthorizationAttributes, Decision, ResourceAttributes } from "../../../machinery/api/attributes.ts";
import { UnusableAnswer } from "../../../machinery/client/webhooks/post-json.ts";
import { valueBeforeNull } from "../../../machinery/schema/json-reader.ts";

interface Requirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values?: readonly string[];
}

interface Selector {
  readonly requirements: readonly Requirement[];
}

/** The `spec` of a SubjectAccessReview v1 for a webhook. Empty fields are left out. */
export interface WebhookReviewSpec {
  readonly user: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
  readonly resourceAttributes?: Readonly<Record<string, string | Selector>>;
  readonly nonResourceAttributes?: { readonly path: string; readonly verb: string };
}

/** The review of a request for a webhook. */
export function webhookReviewSpecOf(attributes: AuthorizationAttributes): WebhookReviewSpec {
  const { username, uid = "", groups, extra } = attributes.user;
  const who = { user: username, uid, groups, extra };
  if (attributes.kind === "path") {
    return { ...who, nonResourceAttributes: { path: attributes.path, verb: attributes.verb } };
  }
  const { namespace, verb, group, version, resource, subresource, name } = attributes;
  const texts = Object.entries({ namespace, verb, group, version, resource, subresource, name });
  return {
    ...who,
    resourceAttributes: { ...Object.fromEntries(texts.filter(([, text]) => text !== "")), ...selectorsOf(attributes) },
  };
}

const labelOperators: Readonly<Record<string, Requirement["operator"]>> = {
  exists: "Exists",
  doesNotExist: "DoesNotExist",
  in: "In",
  "=": "In",
  "==": "In",
  notin: "NotIn",
  "!=": "NotIn",
};

function selectorsOf({ fieldSelector = [], labelSelector = [] }: ResourceAttributes): Record<string, Selector> {
  const fields = fieldSelector.map(({ field, operator, value }): Requirement => ({
    key: field,
    operator: operator === "=" ? "In" : "NotIn",
    values: [value],
  }));
  // A review has no `Gt` and `Lt`. They are left out, which asks for more, as in upstream.
  const labels = labelSelector.flatMap(({ key, operator, values }): Requirement[] => {
    const said = labelOperators[operator];
    if (said === undefined) return [];
    return [{ key, operator: said, ...(values.length > 0 && { values }) }];
  });
  return {
    ...(fields.length > 0 && { fieldSelector: { requirements: fields } }),
    ...(labels.length > 0 && { labelSelector: { requirements: labels } }),
  };
}

/** The whole review. `v1beta1` calls the groups `group`. */
export function webhookReviewOf(spec: WebhookReviewSpec, version: "v1" | "v1beta1"): unknown {
  const { groups, ...rest } = spec;
  return {
    apiVersion: `authorization.k8s.io/${version}`,
    kind: "SubjectAccessReview",
    spec: version === "v1" ? spec : { ...rest, group: groups },
  };
}

const longestReason = 4096;
/** The text of a value, cut to `longestReason`. Replaces lone surrogates, also from cutting, because strict JSON readers refuse them. */
const textOf = (value: unknown): string =>
  typeof value === "string" ? value.slice(0, longestReason).toWellFormed() : "";

/** A member of an answer. In Go, null leaves the value that an earlier member of the same name has: `"denied":true,"denied":null` denies. */
const memberAsInGo = (object: Readonly<Record<string, unknown>>, key: string): unknown =>
  object[key] ?? valueBeforeNull(object, key);

/** The decision in a webhook's answer. Throws UnusableAnswer for anything but a SubjectAccessReview with a status. */
export function decisionOf(answer: Readonly<Record<string, unknown>>): Decision {
  const status = jsonFields(memberAsInGo(answer, "status"));
  const [allowed, denied] = [memberAsInGo(status, "allowed"), memberAsInGo(status, "denied")];
  const reason = memberAsInGo(status, "reason");
  // An answer without `allowed` may still deny. Other values than true and false must not count as false.
  const values = [allowed, denied].filter((one) => one !== undefined && one !== null);
  if (
    memberAsInGo(answer, "kind") !== "SubjectAccessReview" ||
    values.length === 0 ||
    values.some((one) => typeof one !== "boolean")
  ) {
    throw new UnusableAnswer("its answer is not a SubjectAccessReview with a status");
  }
  if (denied === true && allowed === true) {
    const both = "webhook subject access review returned both allow and deny response";
    return { decision: "deny", reason: textOf(reason), evaluationError: both };
  }
  return { decision: denied === true ? "deny" : allowed === true ? "allow" : "noOpinion", reason: textOf(reason) };
}
