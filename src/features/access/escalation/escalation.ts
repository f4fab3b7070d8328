import type { AdmissionAttributes, Authorize } from "../../../machinery/api/attributes.ts";
import { forbidden } from "../../../machinery/api/api-error.ts";
import type { ApiError } from "../../../machinery/api/api-error.ts";
import { isDeepStrictEqual } from "node:util";
import type { PolicyRule } from "../rbac/policy-rule.ts";
import { mastersGroup } from "../../../machinery/api/user-info.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";

/** What the escalation check needs from the server's authorization. */
export interface EscalationOptions {
  readonly authorize: Authorize;
  /** A user's rules in a namespace ("" is the cluster), and what could not be evaluated. */
  rulesFor(
    user: UserInfo,
    namespace: string,
  ): { readonly rules: readonly PolicyRule[]; readonly errors: readonly string[] };
  /** The rules of a role in the server's own spelling, as `rulesFor` and `compareRules` have them. */
  ownRules(rules: readonly PolicyRule[]): readonly PolicyRule[];
  /** The part of `wanted` that `held` does not cover, and whether the comparison was too large to finish. */
  compareRules(
    held: readonly PolicyRule[],
    wanted: readonly PolicyRule[],
  ): { readonly uncovered: readonly PolicyRule[]; readonly isCutShort: boolean };
}

/** All permissions. They are required to write an aggregation rule, because it may collect any rules. */
export const fullAuthority: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

export const isMaster = (user: UserInfo): boolean => user.groups.includes(mastersGroup);

/**
 * Whether the user has a verb (`escalate`, `bind`) that lifts the restriction, for a role in the request's namespace.
 */
export async function hasEscalationVerb(
  { authorize }: EscalationOptions,
  attributes: AdmissionAttributes,
  { verb, resource, name }: { readonly verb: string; readonly resource: string; readonly name: string },
): Promise<boolean> {
  const { user, group, version, namespace } = attributes;
  const decision = await authorize({
    kind: "resource",
    user,
    verb,
    group,
    version,
    resource,
    subresource: "",
    namespace,
    name,
  });
  return decision.decision === "allow";
}

/**
 * The error when the author does not hold the rules of a role. Undefined when they do (upstream:
 * `validation.ConfirmNoEscalation`).
 */
export function escalationError(
  options: EscalationOptions,
  attributes: AdmissionAttributes,
  wanted: readonly PolicyRule[],
): ApiError | undefined {
  const { user, askedGroup: group, resource, namespace, name } = attributes;
  const { rules, errors } = options.rulesFor(user, namespace);
  const { uncovered, isCutShort } = options.compareRules(rules, wanted);
  if (uncovered.length === 0) return undefined;
  const who = `user ${JSON.stringify(user.username)} (groups=${quoted(user.groups)})`;
  if (isCutShort) {
    return forbidden(
      { group, resource },
      name,
      `${who} is attempting to grant too many RBAC permissions to compare with those currently held: ` +
        "split the rules over several roles, or let a user with the verb escalate write them",
    );
  }
  const lines = [...new Set(uncovered.slice(0, maximumShown).map(ruleText))].toSorted();
  const more = uncovered.length > maximumShown ? `\n... and ${uncovered.length - maximumShown} more` : "";
  const resolution = errors.length === 0 ? "" : `; resolution errors: ${quotedErrors(errors)}`;
  return forbidden(
    { group, resource },
    name,
    `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join("\n")}${more}${resolution}`,
  );
}

/** How much of a list and of a text a message shows. */
const maximumShown = 50;
const maximumShownLength = 300;

const shortened = (text: string): string =>
  text.length > maximumShownLength ? `${text.slice(0, maximumShownLength)}...` : text;

const bounded = (list: readonly string[]): readonly string[] =>
  list.length > maximumShown ? [...list.slice(0, maximumShown), `... and ${list.length - maximumShown} more`] : list;

const quoted = (list: readonly string[]): string =>
  `[${bounded(list)
    .map((one) => JSON.stringify(shortened(one)))
    .join(" ")}]`;

const quotedErrors = (errors: readonly string[]): string => `[${bounded(errors).map(shortened).join(", ")}]`;

function ruleText(rule: PolicyRule): string {
  const parts = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ] as const;
  const shown = parts.flatMap(([label, list]) => (list && list.length > 0 ? [`${label}:${quoted(list)}`] : []));
  return `{${shown.join(", ")}}`;
}

/**
 * A change of only the fields that garbage collection needs is never an escalation. Stricter than `isOnlyGarbageCollectionChange`:
 * an empty aggregation rule is not the same as none.
 */
export function changesOnlyGarbageCollection({ object, oldObject }: AdmissionAttributes): boolean {
  if (object === undefined || oldObject === undefined) return false;
  const rest = ({ metadata, ...others }: NonNullable<AdmissionAttributes["object"]>): unknown => {
    const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _fields, ...kept } = metadata;
    return { ...others, metadata: kept };
  };
  return isDeepStrictEqual(rest(object), rest(oldObject));
}
