import { goQuoted } from "../../../machinery/api/text/format-value.ts";
import type { RoleRef } from "./binding.ts";
import type { PolicyRule } from "./policy-rule.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import type { AccessSpelling } from "../../../machinery/authorization/access-spelling.ts";
import { LongWork } from "../../../machinery/scheduling/long-work.ts";
import { BindingIndex } from "./binding-index.ts";
import type { Grant } from "./subject-index.ts";
import type { RbacObjects } from "./rbac-objects.ts";

export interface ResolvedRules {
  readonly rules: readonly PolicyRule[];
  /** Whether the user may have more rules than these. */
  readonly isIncomplete: boolean;
  /** What could not be resolved, such as roles that bindings name but that do not exist. */
  readonly errors: readonly string[];
}

/** The rules of a user's roles. */
interface GatheredRules {
  readonly rules: readonly PolicyRule[];
  /** Roles that bindings of the user name, but that do not exist. */
  readonly missing: readonly RoleRef[];
  /** Whether rules of the user were left out. */
  readonly isCutShort: boolean;
}

/** The most characters of a user's rules that are gathered: more than the largest role has, and much more than users need. */
const maximumCharacters = 2 * 1024 * 1024;
export const tooManyRules = "the user has more rules than can be listed: not all of them are there";

/**
 * Finds the rules of a user (upstream: `validation.DefaultRuleResolver`). All names in these rules are in the server's own spelling,
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

  /**
   * Gathers the bindings of a namespace in turns. Call it before `grants`, which otherwise reads all bindings of the namespace in one turn.
   * Undefined: nothing to wait for.
   */
  prepare(namespace: string): Promise<void> | undefined {
    const cluster = this.#index.prepare("");
    if (cluster !== undefined) return cluster.then(() => this.prepare(namespace));
    return namespace === "" ? undefined : this.#index.prepare(namespace);
  }

  /** The cluster-wide grants of a user, then those in the namespace. "" returns only the cluster-wide grants. */
  grants(user: UserInfo, namespace: string): Grant[] {
    const cluster = this.#index.grants(user, "");
    return namespace === "" ? cluster : cluster.concat(this.#index.grants(user, namespace));
  }

  /** The rules of a role. Undefined when the role does not exist. */
  rulesOfRole(roleRef: RoleRef, bindingNamespace: string): readonly PolicyRule[] | undefined {
    const role =
      roleRef.kind === "ClusterRole"
        ? this.#objects.getClusterRole(roleRef.name)
        : this.#objects.getRole(bindingNamespace, roleRef.name);
    return role === undefined ? undefined : this.ownRules(role.rules ?? []);
  }

  /** Converts the rules of a role to the server's own spelling. For a stored role, the result is computed once. */
  ownRules(rules: readonly PolicyRule[]): readonly PolicyRule[] {
    if (this.#spelling === undefined) return rules;
    let own = this.#respelled.get(rules);
    if (own === undefined) this.#respelled.set(rules, (own = respelledRules(rules, this.#spelling)));
    return own;
  }

  /** The rules of a user in a namespace, with the errors that a review shows. */
  async rulesFor(user: UserInfo, namespace: string): Promise<ResolvedRules> {
    const { rules, missing, isCutShort } = await this.heldBy(user, namespace);
    const errors = missing.map((roleRef) => this.missingRole(roleRef));
    return { rules, isIncomplete: isCutShort, errors: isCutShort ? [...errors, tooManyRules] : errors };
  }

  /**
   * The rules of a user in a namespace, up to a bound. Each role counts once. The work is divided into turns of the event loop for users
   * with many or large roles.
   */
  async heldBy(user: UserInfo, namespace: string): Promise<GatheredRules> {
    await this.prepare(namespace);
    return new LongWork(user).all(this.#gather(this.grants(user, namespace)));
  }

  *#gather(grants: readonly Grant[]): Generator<undefined, GatheredRules> {
    const rules: (readonly PolicyRule[])[] = [];
    const missing: RoleRef[] = [];
    const seen = new Set<string>();
    let characters = 0;
    for (const { binding } of grants) {
      yield;
      if (seen.has(binding.roleKey)) continue;
      seen.add(binding.roleKey);
      const found = this.rulesOfRole(binding.roleRef, binding.namespace);
      if (found === undefined) {
        missing.push(binding.roleRef);
        continue;
      }
      characters += charactersOf(found);
      if (characters > maximumCharacters) return { rules: rules.flat(), missing, isCutShort: true };
      rules.push(found);
    }
    return { rules: rules.flat(), missing, isCutShort: false };
  }

  missingRole({ apiGroup, kind, name }: RoleRef): string {
    return `${kind.toLowerCase()}.${apiGroup} ${goQuoted(name)} not found`;
  }
}

/** The approximate size of the rules as JSON, in characters. */
function charactersOf(rules: readonly PolicyRule[]): number {
  let characters = 0;
  for (const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } of rules) {
    for (const list of [verbs, apiGroups, resources, resourceNames, nonResourceURLs]) {
      for (const text of list ?? []) characters += text.length + 4;
    }
  }
  return characters;
}

/** Converts every name in the rules to one spelling: for comparisons, and for an answer in the spelling of its request. */
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

/** The converted names, without duplicates. Returns the same list when no name changes. */
function respelledList(list: string[] | undefined, spell: (name: string) => string): string[] | undefined {
  if (list === undefined || list.every((name) => spell(name) === name)) return list;
  return [...new Set(list.map(spell))];
}
