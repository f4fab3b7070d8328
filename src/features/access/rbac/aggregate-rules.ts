import { isDeepStrictEqual } from "node:util";
import type { ClusterRole, LabelSelectorObject, PolicyRule } from "../rbac-types.ts";

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
  for (const selector of role.aggregationRule.clusterRoleSelectors ?? []) {
    for (const part of byName) {
      if (gathered.has(part) || part.metadata.name === role.metadata.name) continue;
      if (!selects(selector, part.metadata.labels ?? {})) continue;
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

/**
 * Whether a structured selector matches labels. An empty one matches everything (upstream: `LabelSelectorAsSelector`).
 */
function selects(
  { matchLabels = {}, matchExpressions = [] }: LabelSelectorObject,
  labels: Record<string, string>,
): boolean {
  const valueOf = (key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  return (
    Object.entries(matchLabels).every(([key, value]) => valueOf(key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = valueOf(key);
      if (operator === "Exists") return value !== undefined;
      if (operator === "DoesNotExist") return value === undefined;
      if (operator === "In") return value !== undefined && values.includes(value);
      return operator === "NotIn" && (value === undefined || !values.includes(value));
    })
  );
}
