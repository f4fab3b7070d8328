import type {
  AuthorizationAttributes,
  Decision,
  PathAttributes,
  ResourceAttributes,
} from "../../../machinery/api/attributes.ts";
import { serviceAccountOf } from "../../../machinery/api/user-info.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { goQuoted, shortened } from "../../../machinery/api/text/format-value.ts";
import type { MaybePromise } from "../../../machinery/api/maybe-promise.ts";
import { isTurnOver, requestTurn } from "../../../machinery/scheduling/request-turn.ts";
import { joinedErrors } from "../../../machinery/authorization/authorizer.ts";
import type { Authorizer } from "../../../machinery/authorization/authorizer.ts";
import type { Grant } from "./subject-index.ts";
import { matchesPath } from "./path-patterns.ts";
import type { RuleResolver } from "./rule-resolver.ts";
import type { PolicyRule } from "./policy-rule.ts";

/**
 * Role based access control (upstream: `rbac.RBACAuthorizer`). Permissions add up; there are no deny rules. The search ends at the first
 * grant that allows the request. The reason names missing roles, because they may explain why a permission is missing. The result is a
 * promise only when the user's bindings and roles are so many or so large that the search is divided into turns of the event loop.
 */
export function rbac(resolver: RuleResolver): Authorizer {
  return (attributes) => {
    const preparing = resolver.prepare(namespaceOf(attributes));
    if (preparing !== undefined) return preparing.then(() => decide(resolver, attributes));
    return decide(resolver, attributes);
  };
}

const namespaceOf = (attributes: AuthorizationAttributes): string =>
  attributes.kind === "resource" ? attributes.namespace : "";

function decide(resolver: RuleResolver, attributes: AuthorizationAttributes): MaybePromise<Decision> {
  const grants = resolver.grants(attributes.user, namespaceOf(attributes));
  return search({ resolver, attributes, grants, next: 0, missing: undefined, hasTurn: false });
}

/** A search of up to this many roles and rules needs no turn: it is so short that hundreds of requests may do it at once. */
const looksWithoutTurn = 200;

/** The state of a search for a grant that allows the request. */
interface GrantSearch {
  readonly resolver: RuleResolver;
  readonly attributes: AuthorizationAttributes;
  readonly grants: readonly Grant[];
  /** The index of the grant to look at next. */
  readonly next: number;
  readonly missing: Set<string> | undefined;
  /** Whether the search has waited for its turn. */
  readonly hasTurn: boolean;
}

function search({ resolver, attributes, grants, next, missing: known, hasTurn }: GrantSearch): MaybePromise<Decision> {
  let missing = known;
  let looks = 0;
  const startedAt = performance.now();
  for (let index = next; index < grants.length; index += 1) {
    if (isTurnOver(startedAt) || (looks > looksWithoutTurn && !hasTurn)) {
      const rest = { resolver, attributes, grants, next: index, missing, hasTurn: true };
      return requestTurn(attributes.askedBy ?? attributes.user).then(() => search(rest));
    }
    const grant = grants[index] as Grant; // the index is below the length
    const { roleRef, namespace } = grant.binding;
    const rules = resolver.rulesOfRole(roleRef, namespace);
    looks += 1 + (rules?.length ?? 0);
    if (rules === undefined) (missing ??= new Set()).add(resolver.missingRole(roleRef));
    else if (isAllowedByOne(rules, attributes)) return { decision: "allow", reason: reasonOf(grant, attributes.user) };
  }
  return {
    decision: "noOpinion",
    reason: missing === undefined ? "" : `RBAC: ${shortened(joinedErrors([...missing]))}`,
  };
}

const isAllowedByOne = (rules: readonly PolicyRule[], attributes: AuthorizationAttributes): boolean =>
  rules.some((rule) => ruleAllows(rule, attributes));

function reasonOf({ binding, kind, group }: Grant, { username }: UserInfo): Decision["reason"] {
  const { name, namespace, roleRef } = binding;
  const bindingText =
    namespace === "" ? `ClusterRoleBinding ${goQuoted(name)}` : `RoleBinding ${goQuoted(`${name}/${namespace}`)}`;
  const subject = kind === "Group" ? group : kind === "User" ? username : accountText(username);
  return `RBAC: allowed by ${bindingText} of ${roleRef.kind} ${goQuoted(roleRef.name)} to ${kind} ${goQuoted(subject)}`;
}

/** The account with a user name, as NAME/NAMESPACE. */
function accountText(username: string): string {
  const { namespace = "", name = "" } = serviceAccountOf(username) ?? {};
  return `${name}/${namespace}`;
}

/** Whether a rule allows a request (upstream: `rbac.RuleAllows`). Names must match exactly, including case. */
export const ruleAllows = (rule: PolicyRule, attributes: ResourceAttributes | PathAttributes): boolean =>
  includesOrAll(rule.verbs, attributes.verb) &&
  (attributes.kind === "path"
    ? (rule.nonResourceURLs ?? []).some((pattern) => matchesPath(pattern, attributes.path))
    : includesOrAll(rule.apiGroups, attributes.group) &&
      matchesResource(rule.resources, attributes) &&
      matchesName(rule.resourceNames, attributes.name));

const includesOrAll = (list: readonly string[] | null | undefined, value: string): boolean =>
  list !== null && list !== undefined && (list.includes("*") || list.includes(value));

/** Matches `*`, the resource with its subresource, or `*` with the subresource. `resource/*` is not a pattern. */
function matchesResource(
  resources: readonly string[] | undefined,
  { resource, subresource }: Pick<ResourceAttributes, "resource" | "subresource">,
): boolean {
  if (resources === undefined) return false;
  if (resources.includes("*")) return true;
  if (subresource === "") return resources.includes(resource);
  return resources.includes(`${resource}/${subresource}`) || resources.includes(`*/${subresource}`);
}

const matchesName = (names: readonly string[] | undefined, name: string): boolean =>
  names === undefined || names.length === 0 || names.includes(name);
