import { PathPatterns } from "./path-patterns.ts";
import type { PolicyRule } from "./policy-rule.ts";

/** How many look-ups one comparison of rules may take: about a tenth of a second, in turns. */
const maximumSteps = 1_500_000;

/** Stops a comparison that takes too much work. */
export class TooMuchWork extends Error {}

/** Counts the look-ups of a comparison. */
export class ComparisonWork {
  #steps = 0;

  get steps(): number {
    return this.#steps;
  }

  /** Call it before the work. Throws TooMuchWork when the limit is reached. */
  spend(steps: number): void {
    if (this.#steps + steps > maximumSteps) throw new TooMuchWork();
    this.#steps += steps;
  }
}

/** A permission, without names of objects. */
interface Permission {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
}

/** The names for which a permission is not held. */
type MissingNames = readonly string[] | "none" | "every";

/**
 * The names for which a permission is held, as the lists of several rules. `every`: some rule does not restrict names.
 */
type HeldNames = (readonly string[])[] | "every";

/**
 * A rule is indexed only if its lists multiply to at most this many permissions per entry. Otherwise it is kept
 * unchanged.
 */
const permissionsPerEntry = 4;

/**
 * An index of the rules that a user holds: finds a permission by verb, group and resource without reading every rule.
 * Rules whose lists multiply to far more permissions than they have entries stay outside the index, so building it
 * takes linear time.
 */
export class HeldRules {
  readonly #work: ComparisonWork;
  readonly #rules: PolicyRule[] = [];
  readonly #wide: WideRule[] = [];
  /** By verb, group and resource: in maps of maps, because to look up a text of all three takes five times as long. */
  readonly #names = new Map<string, Map<string, Map<string, HeldNames>>>();
  readonly #paths = new Map<string, PathPatterns>();
  readonly #setOfList = new Map<readonly string[], ReadonlySet<string>>();
  readonly #setOfKey = new Map<HeldNames, ReadonlySet<string>>();

  constructor(work: ComparisonWork) {
    this.#work = work;
  }

  /** Yields between its steps. */
  *add(rules: readonly PolicyRule[]): Generator<undefined, void> {
    for (const rule of rules) {
      this.#rules.push(rule);
      yield* this.#add(rule);
    }
  }

  coversPath(verb: string, path: string): boolean {
    this.#work.spend(1 + this.#wide.length);
    return (
      this.#paths.get(verb)?.covers(path) === true ||
      this.#paths.get("*")?.covers(path) === true ||
      this.#wide.some((rule) => rule.hasVerb(verb) && rule.paths.covers(path))
    );
  }

  /**
   * Returns the names for which a permission is not held. Without names: whether it is held for `every` name. Use one
   * look-up per wanted rule: it remembers which names a held rule's list leaves out.
   */
  namesLookUp(names: readonly string[]): (permission: Permission) => MissingNames {
    const leftOut = new Map<ReadonlySet<string>, readonly string[]>();
    return (permission) => {
      const candidates = this.#candidates(permission);
      if (candidates === "every") return "none";
      if (names.length === 0) return "every";
      let missing = names;
      for (const held of candidates) {
        const known = missing === names ? leftOut.get(held) : undefined;
        if (known !== undefined) {
          missing = known;
          continue;
        }
        this.#work.spend(missing.length);
        const rest = missing.filter((name) => !held.has(name));
        if (missing === names) leftOut.set(held, rest);
        missing = rest;
      }
      return missing.length === 0 ? "none" : missing;
    };
  }

  /** Whether a single held rule allows everything that a rule allows (upstream: `ruleCovers`). Yields between its steps. */
  *hasRuleAbove(rule: PolicyRule): Generator<undefined, boolean> {
    for (const held of this.#rules) {
      if (this.#coversWhole(held, rule)) return true;
      yield;
    }
    return false;
  }

  #coversWhole(held: PolicyRule, rule: PolicyRule): boolean {
    const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
    const { verbs, apiGroups: groups, resources: kinds, nonResourceURLs: urls } = held;
    this.#work.spend([verbs, groups, kinds, urls].reduce((sum, list) => sum + (list?.length ?? 0), 1));
    const above = new WideRule(held);
    const heldNames = held.resourceNames ?? [];
    const hasAll = (list: readonly string[], has: (one: string) => boolean): boolean =>
      list.every((one) => {
        this.#work.spend(1);
        return has(one);
      });
    if (!hasAll(rule.verbs ?? [], (verb) => above.hasVerb(verb))) return false;
    if (!hasAll(apiGroups, (group) => above.hasGroup(group))) return false;
    if (!hasAll(resources, (resource) => above.hasResource(resource))) return false;
    if (!hasAll(nonResourceURLs, (path) => above.paths.covers(path))) return false;
    if (heldNames.length === 0) return true;
    const names = this.#setOf(heldNames);
    return resourceNames.length > 0 && hasAll(resourceNames, (name) => names.has(name));
  }

  *#add(rule: PolicyRule): Generator<undefined, void> {
    const { apiGroups = [], resources = [], nonResourceURLs = [], resourceNames = [] } = rule;
    const verbs = rule.verbs ?? [];
    const permissions = verbs.length * (apiGroups.length * resources.length + nonResourceURLs.length);
    const entries = verbs.length + apiGroups.length + resources.length + nonResourceURLs.length;
    if (permissions > permissionsPerEntry * entries) {
      this.#work.spend(entries);
      this.#wide.push(new WideRule(rule));
      return;
    }
    this.#work.spend(1 + permissions);
    for (const verb of verbs) {
      for (const group of apiGroups) {
        const held = this.#heldOf(verb, group);
        for (const resource of resources) addNames(held, { resource, names: resourceNames });
        yield;
      }
      if (nonResourceURLs.length === 0) continue;
      let patterns = this.#paths.get(verb);
      if (patterns === undefined) this.#paths.set(verb, (patterns = new PathPatterns()));
      for (const pattern of nonResourceURLs) patterns.add(pattern);
    }
  }

  #heldOf(verb: string, group: string): Map<string, HeldNames> {
    let byGroup = this.#names.get(verb);
    if (byGroup === undefined) this.#names.set(verb, (byGroup = new Map<string, Map<string, HeldNames>>()));
    let held = byGroup.get(group);
    if (held === undefined) byGroup.set(group, (held = new Map<string, HeldNames>()));
    return held;
  }

  /** The names in every rule that grants a permission. */
  #candidates({ verb, group, resource }: Permission): ReadonlySet<string>[] | "every" {
    const found: ReadonlySet<string>[] = [];
    const patterns = resourcePatterns(resource);
    for (const heldVerb of orAll(verb)) {
      for (const heldGroup of orAll(group)) {
        this.#work.spend(1);
        const held = this.#names.get(heldVerb)?.get(heldGroup);
        if (held === undefined) continue;
        for (const heldResource of patterns) {
          this.#work.spend(1);
          const names = held.get(heldResource);
          if (names === "every") return "every";
          if (names !== undefined) found.push(this.#setOfAll(names));
        }
      }
    }
    this.#work.spend(this.#wide.length);
    for (const rule of this.#wide) {
      if (!rule.hasVerb(verb) || !rule.hasGroup(group) || !rule.hasResource(resource)) continue;
      if (rule.names.length === 0) return "every";
      found.push(this.#setOf(rule.names));
    }
    return found;
  }

  #setOfAll(names: Exclude<HeldNames, "every">): ReadonlySet<string> {
    const [first] = names;
    if (names.length === 1 && first !== undefined) return this.#setOf(first);
    const known = this.#setOfKey.get(names);
    if (known !== undefined) return known;
    const all = new Set<string>();
    for (const list of names) {
      this.#work.spend(list.length);
      for (const name of list) all.add(name);
    }
    this.#setOfKey.set(names, all);
    return all;
  }

  #setOf(list: readonly string[]): ReadonlySet<string> {
    const known = this.#setOfList.get(list);
    if (known !== undefined) return known;
    this.#work.spend(list.length);
    const set = new Set(list);
    this.#setOfList.set(list, set);
    return set;
  }
}

/** A rule whose lists are searched one by one. */
class WideRule {
  readonly names: readonly string[];
  readonly paths = new PathPatterns();
  readonly #verbs: ReadonlySet<string>;
  readonly #groups: ReadonlySet<string>;
  readonly #resources: ReadonlySet<string>;

  constructor({ verbs, apiGroups, resources, resourceNames = [], nonResourceURLs = [] }: PolicyRule) {
    this.names = resourceNames;
    this.#verbs = new Set(verbs);
    this.#groups = new Set(apiGroups);
    this.#resources = new Set(resources);
    for (const pattern of nonResourceURLs) this.paths.add(pattern);
  }

  hasVerb(verb: string): boolean {
    return this.#verbs.has("*") || this.#verbs.has(verb);
  }

  hasGroup(group: string): boolean {
    return this.#groups.has("*") || this.#groups.has(group);
  }

  hasResource(resource: string): boolean {
    return resourcePatterns(resource).some((pattern) => this.#resources.has(pattern));
  }
}

const orAll = (value: string): readonly string[] => (value === "*" ? ["*"] : [value, "*"]);

/** The resources that cover a resource: itself, `*`, and for a subresource `*` with that subresource. */
function resourcePatterns(resource: string): readonly string[] {
  const slash = resource.indexOf("/");
  return slash < 0 ? orAll(resource) : [...orAll(resource), `*${resource.slice(slash)}`];
}

function addNames(
  held: Map<string, HeldNames>,
  { resource, names }: { readonly resource: string; readonly names: readonly string[] },
): void {
  const known = held.get(resource);
  if (known === "every") return;
  if (names.length === 0) held.set(resource, "every");
  else if (known === undefined) held.set(resource, [names]);
  else known.push(names);
}
