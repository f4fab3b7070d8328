import { isDeepStrictEqual } from "node:util";
import type { PolicyRule } from "./policy-rule.ts";
import type { ClusterRole } from "./roles.ts";
import { matchesLabels, requirementsOf } from "../../../machinery/api/label-selector.ts";

/**
 * Computes the rules of an aggregated role: those of every other role that matches one of its selectors, selector by
 * selector, sorted by name within each, without duplicates (upstream: the clusterroleaggregation controller). Undefined
 * when the role has no aggregation rule or already has these rules.
 */
export function aggregateRules(role: ClusterRole, all: readonly ClusterRole[]): PolicyRule[] | undefined {
  if (role.aggregationRule === undefined) return undefined;
  const rules: PolicyRule[] = [];
  const gathered = new Set<ClusterRole>();
  const seen = new Set<string>();
  const byName = all.toSorted((one, other) => compareNames(one.metadata.name ?? "", other.metadata.name ?? ""));
  for (const selector of (role.aggregationRule.clusterRoleSelectors ?? []).map(requirementsOf)) {
    for (const part of byName) {
      if (gathered.has(part) || part.metadata.name === role.metadata.name) continue;
      if (!matchesLabels(selector, part.metadata.labels)) continue;
      gathered.add(part);
      for (const rule of part.rules ?? []) {
        const key = keyOf(rule);
        if (!seen.has(key)) rules.push(rule);
        seen.add(key);
      }
    }
  }
  return isDeepStrictEqual(rules, role.rules ?? []) ? undefined : rules;
}

const compareNames = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

const keyOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): string =>
  JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs]);
