import type { ComparisonWork } from "./comparison-work.ts";
import { PathPatterns } from "./path-patterns.ts";
import type { PolicyRule } from "./policy-rule.ts";
import { orAll, resourcePatterns, RuleSets } from "./rule-sets.ts";

/** A permission, without names of objects. */
interface Permission {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
}

/** The names for which a permission is not held. */
type MissingNames = readonly string[] | "none" | "every";

/** The names for which rules grant a permission: one list per rule. `every`: at least one rule does not restrict names. */
type GrantedNames = (readonly string[])[] | "every";

/** A rule is indexed only if its lists multiply to at most this many permissions per list entry. */
const permissionsPerEntry = 4;

/**
 * The rules that a user holds. An index finds the rules that grant a permission by verb, group and resource, without reading every rule. A
 * rule whose lists multiply to far more permissions than they have entries stays outside the index and is checked separately, so that
 * building the index takes linear time.
 */
export class HeldRules {
  readonly #work: ComparisonWork;
  readonly #all: PolicyRule[] = [];
  readonly #notIndexed: RuleSets[] = [];
  /** By verb, group and resource. Maps of maps, because a look-up by one joined text takes five times as long. */
  readonly #names = new Map<string, Map<string, Map<string, GrantedNames>>>();
  /** By verb. */
  readonly #paths = new Map<string, PathPatterns>();

  constructor(work: ComparisonWork) {
    this.#work = work;
  }

  /** Adds rules; call it before the first look-up. Yields between its steps. */
  *add(rules: readonly PolicyRule[]): Generator<undefined, void> {
    for (const rule of rules) {
      this.#all.push(rule);
      yield* this.#add(rule);
    }
  }

  coversPath(verb: string, path: string): boolean {
    this.#work.spend(1 + this.#notIndexed.length);
    return (
      orAll(verb).some((held) => this.#paths.get(held)?.covers(path) === true) ||
      this.#notIndexed.some((rule) => rule.hasVerb(verb) && rule.hasPath(path))
    );
  }

  /**
   * Returns a function that finds those of `names` for which a permission is not held. Without names, the result is `every` unless the
   * permission is held for all names. Make one such function for each wanted rule: it remembers which names each held list leaves out.
   */
  missingNames(names: readonly string[]): (permission: Permission) => MissingNames {
    const missingFrom = remembered((held: ReadonlySet<string>) => this.#leftOut(names, held));
    return (permission) => {
      const granted = this.#grantedNames(permission);
      if (granted === "every") return "none";
      if (names.length === 0) return "every";
      const [first, ...others] = granted;
      let missing = first === undefined ? names : missingFrom(first);
      for (const held of others) missing = this.#leftOut(missing, held);
      return missing.length === 0 ? "none" : missing;
    };
  }

  /** Whether a single held rule allows everything that `rule` allows (upstream: `ruleCovers`). Yields between its steps. */
  *hasRuleAbove(rule: PolicyRule): Generator<undefined, boolean> {
    for (const held of this.#all) {
      if (this.#isAbove(held, rule)) return true;
      yield;
    }
    return false;
  }

  #isAbove(held: PolicyRule, rule: PolicyRule): boolean {
    const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
    this.#work.spend(1 + sizesOf(held).entries);
    const sets = new RuleSets(held);
    const hasAll = (list: readonly string[], has: (one: string) => boolean): boolean =>
      list.every((one) => {
        this.#work.spend(1);
        return has(one);
      });
    if (!hasAll(rule.verbs ?? [], (verb) => sets.hasVerb(verb))) return false;
    if (!hasAll(apiGroups, (group) => sets.hasGroup(group))) return false;
    if (!hasAll(resources, (resource) => sets.hasResource(resource))) return false;
    if (!hasAll(nonResourceURLs, (path) => sets.hasPath(path))) return false;
    if (sets.names.length === 0) return true;
    const names = this.#setOf(sets.names);
    return resourceNames.length > 0 && hasAll(resourceNames, (name) => names.has(name));
  }

  *#add(rule: PolicyRule): Generator<undefined, void> {
    const { permissions, entries } = sizesOf(rule);
    if (permissions > permissionsPerEntry * entries) {
      this.#work.spend(entries);
      this.#notIndexed.push(new RuleSets(rule));
      return;
    }
    this.#work.spend(1 + permissions);
    const { apiGroups = [], resources = [], nonResourceURLs = [], resourceNames = [] } = rule;
    for (const verb of rule.verbs ?? []) {
      for (const group of apiGroups) {
        const granted = this.#grantedIn(verb, group);
        for (const resource of resources) grant(granted, { resource, names: resourceNames });
        yield;
      }
      if (nonResourceURLs.length === 0) continue;
      let patterns = this.#paths.get(verb);
      if (patterns === undefined) this.#paths.set(verb, (patterns = new PathPatterns()));
      for (const pattern of nonResourceURLs) patterns.add(pattern);
    }
  }

  /** The indexed names for a verb in a group, by resource. */
  #grantedIn(verb: string, group: string): Map<string, GrantedNames> {
    let byGroup = this.#names.get(verb);
    if (byGroup === undefined) this.#names.set(verb, (byGroup = new Map<string, Map<string, GrantedNames>>()));
    let granted = byGroup.get(group);
    if (granted === undefined) byGroup.set(group, (granted = new Map<string, GrantedNames>()));
    return granted;
  }

  /** The names in the rules that grant a permission. */
  #grantedNames({ verb, group, resource }: Permission): ReadonlySet<string>[] | "every" {
    const found: ReadonlySet<string>[] = [];
    const patterns = resourcePatterns(resource);
    for (const heldVerb of orAll(verb)) {
      for (const heldGroup of orAll(group)) {
        this.#work.spend(1);
        const granted = this.#names.get(heldVerb)?.get(heldGroup);
        if (granted === undefined) continue;
        for (const pattern of patterns) {
          this.#work.spend(1);
          const names = granted.get(pattern);
          if (names === "every") return "every";
          if (names !== undefined) found.push(this.#unionOf(names));
        }
      }
    }
    this.#work.spend(this.#notIndexed.length);
    for (const rule of this.#notIndexed) {
      if (!rule.hasVerb(verb) || !rule.hasGroup(group) || !rule.hasResource(resource)) continue;
      if (rule.names.length === 0) return "every";
      found.push(this.#setOf(rule.names));
    }
    return found;
  }

  #leftOut(names: readonly string[], held: ReadonlySet<string>): readonly string[] {
    this.#work.spend(names.length);
    return names.filter((name) => !held.has(name));
  }

  readonly #setOf = remembered((list: readonly string[]): ReadonlySet<string> => {
    this.#work.spend(list.length);
    return new Set(list);
  });

  readonly #unionOf = remembered((lists: readonly (readonly string[])[]): ReadonlySet<string> => {
    const [first, ...others] = lists;
    // All permissions of a rule share its list, so the set is computed once for all of them.
    if (first !== undefined && others.length === 0) return this.#setOf(first);
    const all = new Set<string>();
    for (const list of lists) {
      this.#work.spend(list.length);
      for (const name of list) all.add(name);
    }
    return all;
  });
}

/** The number of permissions to which the lists of a rule multiply, and the number of entries in these lists. */
export function sizesOf({ verbs, apiGroups, resources, nonResourceURLs }: PolicyRule): {
  readonly permissions: number;
  readonly entries: number;
} {
  const [ofVerbs, ofGroups] = [verbs?.length ?? 0, apiGroups?.length ?? 0];
  const [ofResources, ofPaths] = [resources?.length ?? 0, nonResourceURLs?.length ?? 0];
  return {
    permissions: ofVerbs * (ofGroups * ofResources + ofPaths),
    entries: ofVerbs + ofGroups + ofResources + ofPaths,
  };
}

function grant(
  granted: Map<string, GrantedNames>,
  { resource, names }: { readonly resource: string; readonly names: readonly string[] },
): void {
  const known = granted.get(resource);
  if (known === "every") return;
  if (names.length === 0) granted.set(resource, "every");
  else if (known === undefined) granted.set(resource, [names]);
  else known.push(names);
}

/** Remembers each result. Not `computedOnce`, whose weak references take longer for thousands of keys. */
function remembered<Key, Value extends object>(compute: (key: Key) => Value): (key: Key) => Value {
  const results = new Map<Key, Value>();
  return (key) => {
    let result = results.get(key);
    if (result === undefined) results.set(key, (result = compute(key)));
    return result;
  };
}
