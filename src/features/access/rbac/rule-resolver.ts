import type { RoleRef } from "./binding.ts";
import type { PolicyRule } from "./policy-rule.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import type { AccessSpelling } from "../../../machinery/authorization/access-spelling.ts";
import { BindingIndex, roleKeyOf } from "./binding-index.ts";
import type { Grant } from "./binding-index.ts";
import type { RbacObjects } from "./rbac-objects.ts";

export interface ResolvedRules {
  readonly rules: readonly PolicyRule[];
  /** What could not be resolved: roles that bindings name but that do not exist. */
  readonly errors: readonly string[];
}

/**
 * Finds the rules of a user (upstream: `validation.DefaultRuleResolver`). They have every name in the server's own spelling,
 * whichever spelling the role has.
 */
export class RuleResolver {
  readonly #objects: RbacObjects;
  /** Undefined: every name has one spelling. */
  readonly #spelling: AccessSpelling | undefined;
  readonly #index: BindingIndex;
  readonly #respelled = new WeakMap<readonly PolicyRule[], readonly PolicyRule[]>();

  constructor(objects: RbacObjects, spelling?: AccessSpelling) {
    this.#objects = objects;
    this.#spelling = spelling;
    this.#index = new BindingIndex(objects);
  }

  /** Cluster-wide grants first, then the namespace's. "" returns only the cluster-wide ones. */
  grants(user: UserInfo, namespace: string): Grant[] {
    const cluster = this.#index.clusterGrants(user);
    return namespace === "" ? cluster : cluster.concat(this.#index.namespaceGrants(user, namespace));
  }

  /** The rules of a role. Undefined when the role does not exist. */
  rulesOfRole(roleRef: RoleRef, bindingNamespace: string): readonly PolicyRule[] | undefined {
    const role =
      roleRef.kind === "ClusterRole"
        ? this.#objects.getClusterRole(roleRef.name)
        : this.#objects.getRole(bindingNamespace, roleRef.name);
    return role === undefined ? undefined : this.ownRules(role.rules ?? []);
  }

  /** The rules of a role in the server's own spelling. Those of a stored role are worked on once. */
  ownRules(rules: readonly PolicyRule[]): readonly PolicyRule[] {
    if (this.#spelling === undefined) return rules;
    let own = this.#respelled.get(rules);
    if (own === undefined) this.#respelled.set(rules, (own = respelledRules(rules, this.#spelling)));
    return own;
  }

  /** Every rule of a user in a namespace. Each role counts once. */
  rulesFor(user: UserInfo, namespace: string): ResolvedRules {
    const rules: (readonly PolicyRule[])[] = [];
    const errors = new Set<string>();
    const seen = new Set<string>();
    for (const { binding } of this.grants(user, namespace)) {
      const role = roleKeyOf(binding);
      if (seen.has(role)) continue;
      seen.add(role);
      const found = this.rulesOfRole(binding.roleRef, binding.metadata.namespace ?? "");
      if (found === undefined) errors.add(this.missingRole(binding.roleRef));
      else rules.push(found);
    }
    return { rules: rules.flat(), errors: [...errors] };
  }

  missingRole({ apiGroup, kind, name }: RoleRef): string {
    return `${kind.toLowerCase()}.${apiGroup} ${JSON.stringify(name)} not found`;
  }
}

/** The rules with every name in one spelling: for comparisons, and for an answer in the spelling of its request. */
export function respelledRules(rules: readonly PolicyRule[], spelling: AccessSpelling): readonly PolicyRule[] {
  const respelled = rules.map((rule) => respelledRule(rule, spelling));
  return respelled.every((rule, index) => rule === rules[index]) ? rules : respelled;
}

function respelledRule(rule: PolicyRule, spelling: AccessSpelling): PolicyRule {
  const apiGroups = respelledList(rule.apiGroups, spelling.group);
  const resources = respelledList(rule.resources, spelling.resource);
  const resourceNames = respelledList(rule.resourceNames, spelling.objectName);
  const isSame = apiGroups === rule.apiGroups && resources === rule.resources && resourceNames === rule.resourceNames;
  return isSame
    ? rule
    : {
        ...rule,
        ...(apiGroups !== undefined && { apiGroups }),
        ...(resources !== undefined && { resources }),
        ...(resourceNames !== undefined && { resourceNames }),
      };
}

/** Each name once. The same list where nothing differs. */
function respelledList(list: string[] | undefined, spell: (name: string) => string): string[] | undefined {
  if (list === undefined || list.every((name) => spell(name) === name)) return list;
  return [...new Set(list.map(spell))];
}
