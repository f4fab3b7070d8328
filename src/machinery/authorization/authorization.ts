import type { Decision } from "../api/attributes.ts";
import { mastersGroup } from "../api/user-info.ts";
import type { Authorizer } from "./authorizer.ts";

export { aggregateRules } from "../../features/access/rbac/aggregate-rules.ts";
export { alwaysAllow } from "./always-allow.ts";
export type { Authorizer } from "./authorizer.ts";
export { controllerManagerUsername } from "../../features/access/policy/controller-policy.ts";
export { bootstrapPolicy } from "../../features/access/policy/bootstrap-policy.ts";
export { rbac } from "../../features/access/rbac/rbac-authorizer.ts";
export type { RbacObjects } from "../../features/access/rbac/rbac-objects.ts";
export { reconcileBinding, reconcileRole } from "../../features/access/policy/reconcile.ts";
export { compareRules } from "../../features/access/rbac/rule-coverage.ts";
export { RuleResolver } from "../../features/access/rbac/rule-resolver.ts";

const masters: Decision = { decision: "allow", reason: "" };

/**
 * Asks one authorizer after the other; the first that allows or denies decides, and nobody's opinion is a denial. Members
 * of `system:masters` may do everything before anyone is asked: they are who repairs broken rules.
 */
export function createAuthorization(authorizers: readonly Authorizer[]): Authorizer {
  return (attributes) => {
    if (attributes.user.groups.includes(mastersGroup)) return masters;
    const reasons: string[] = [];
    for (const authorize of authorizers) {
      const decision = authorize(attributes);
      if (decision.decision !== "noOpinion") return decision;
      if (decision.reason !== "") reasons.push(decision.reason);
    }
    return { decision: "noOpinion", reason: reasons.join("\n") };
  };
}
