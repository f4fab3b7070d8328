import { PathPatterns } from "./path-patterns.ts";
import type { PolicyRule } from "./policy-rule.ts";

/** The lists of one rule as sets. */
export class RuleSets {
  readonly names: readonly string[];
  readonly #paths = new PathPatterns();
  readonly #verbs: ReadonlySet<string>;
  readonly #groups: ReadonlySet<string>;
  readonly #resources: ReadonlySet<string>;

  constructor({ verbs, apiGroups, resources, resourceNames = [], nonResourceURLs = [] }: PolicyRule) {
    this.names = resourceNames;
    this.#verbs = new Set(verbs);
    this.#groups = new Set(apiGroups);
    this.#resources = new Set(resources);
    for (const pattern of nonResourceURLs) this.#paths.add(pattern);
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

  hasPath(path: string): boolean {
    return this.#paths.covers(path);
  }
}

/** The entries of a rule that cover a verb or a group: itself, or `*`. */
export const orAll = (value: string): readonly string[] => (value === "*" ? ["*"] : [value, "*"]);

/** The entries of a rule that cover a resource: itself, `*`, and for a subresource `*` with that subresource. */
export function resourcePatterns(resource: string): readonly string[] {
  const slash = resource.indexOf("/");
  return slash < 0 ? orAll(resource) : [...orAll(resource), `*${resource.slice(slash)}`];
}
