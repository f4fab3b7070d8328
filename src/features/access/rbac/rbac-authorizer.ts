import type { AuthorizationAttributes, Decision } from "../../../machinery/api/attributes.ts";
import type { AuthorizerInMemory } from "../../../machinery/authorization/authorizer.ts";
import type { Grant } from "./binding-index.ts";
import { ruleAllows } from "./rule-matching.ts";
import type { RuleResolver } from "./rule-resolver.ts";

/**
 * Role based access control (upstream: `rbac.RBACAuthorizer`). Permissions add up; there are no deny rules. The search
 * ends at the first grant that allows the request. The reason names missing roles, because they may explain why a
 * permission is missing.
 */
export function rbac(resolver: RuleResolver): AuthorizerInMemory {
  return (attributes) => {
    const namespace = attributes.kind === "resource" ? attributes.namespace : "";
    let missing: Set<string> | undefined;
    for (const grant of resolver.grants(attributes.user, namespace)) {
      const { roleRef, metadata } = grant.binding;
      const rules = resolver.rulesOfRole(roleRef, metadata.namespace ?? "");
      if (rules === undefined) (missing ??= new Set()).add(resolver.missingRole(roleRef));
      else if (isAllowedByOne(rules, attributes)) return { decision: "allow", reason: reasonOf(grant) };
    }
    return { decision: "noOpinion", reason: missing === undefined ? "" : `RBAC: ${aggregated([...missing])}` };
  };
}

const isAllowedByOne = (
  rules: readonly Parameters<typeof ruleAllows>[0][],
  attributes: AuthorizationAttributes,
): boolean => rules.some((rule) => ruleAllows(rule, attributes));

const aggregated = (errors: readonly string[]): string =>
  errors.length === 1 ? (errors[0] ?? "") : `[${errors.join(", ")}]`;

function reasonOf({ binding, subject }: Grant): Decision["reason"] {
  const quote = JSON.stringify;
  const { name = "", namespace } = binding.metadata;
  const bindingText =
    namespace === undefined ? `ClusterRoleBinding ${quote(name)}` : `RoleBinding ${quote(`${name}/${namespace}`)}`;
  const subjectName =
    subject.kind === "ServiceAccount" ? `${subject.name}/${subject.namespace ?? namespace ?? ""}` : subject.name;
  const { kind, name: roleName } = binding.roleRef;
  return `RBAC: allowed by ${bindingText} of ${kind} ${quote(roleName)} to ${subject.kind} ${quote(subjectName)}`;
}
