import type { PolicyRule } from "../api/rbac.ts";
import { includesOrAll } from "./rule-matching.ts";

/** Single permissions that one comparison may take apart: lists multiply, and clients write the lists. */
const maximumPermissions = 20_000;

/**
 * The permissions of `wanted` that `held` does not cover, joined again where only their verbs differ (upstream:
 * `validation.Covers` and `CompactRules`). Empty: everything is held. A rule that one held rule covers as a whole is not
 * taken apart; of others, those with too many permissions to take apart count as not held.
 */
export function uncoveredRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const missing: PolicyRule[] = [];
  let permissions = 0;
  for (const rule of wanted) {
    if (held.some((owner) => covers(owner, rule))) continue;
    permissions += countPermissions(rule);
    if (permissions > maximumPermissions) {
      missing.push(rule);
      permissions -= countPermissions(rule);
      continue;
    }
    missing.push(...breakdown(rule).filter((one) => !held.some((owner) => covers(owner, one))));
  }
  return compact(missing);
}

/** Whether one rule allows everything that another does (upstream: `ruleCovers`). */
function covers(owner: PolicyRule, rule: PolicyRule): boolean {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const ownerNames = owner.resourceNames ?? [];
  const hasNames =
    ownerNames.length === 0 || (resourceNames.length > 0 && resourceNames.every((name) => ownerNames.includes(name)));
  return (
    (rule.verbs ?? []).every((verb) => includesOrAll(owner.verbs, verb)) &&
    apiGroups.every((group) => includesOrAll(owner.apiGroups, group)) &&
    resources.every((resource) => coversResource(owner.resources ?? [], resource)) &&
    hasNames &&
    nonResourceURLs.every((path) => (owner.nonResourceURLs ?? []).some((pattern) => coversPath(pattern, path)))
  );
}

function coversResource(owned: readonly string[], resource: string): boolean {
  if (owned.includes("*") || owned.includes(resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && owned.includes(`*${resource.slice(slash)}`);
}

const coversPath = (pattern: string, path: string): boolean =>
  pattern === path || (pattern.endsWith("*") && path.startsWith(pattern.replace(/\*+$/, "")));

/** An absent list still counts once: the other lists are what a permission is made of. */
const factor = (list: readonly string[] | null | undefined): number => Math.max(1, list?.length ?? 0);

const countPermissions = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number =>
  factor(verbs) * (factor(apiGroups) * factor(resources) * factor(resourceNames) + factor(nonResourceURLs));

/** A rule as rules of one verb, one group, one resource, one name, or one path each. */
function breakdown({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): PolicyRule[] {
  const single: PolicyRule[] = [];
  for (const verb of verbs ?? []) {
    for (const group of apiGroups) {
      for (const resource of resources) {
        const one = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (resourceNames.length === 0) single.push(one);
        for (const name of resourceNames) single.push({ ...one, resourceNames: [name] });
      }
    }
    for (const path of nonResourceURLs) single.push({ verbs: [verb], nonResourceURLs: [path] });
  }
  return single;
}

/** Joins rules that differ in their verbs only, in order of first appearance. */
function compact(rules: readonly PolicyRule[]): PolicyRule[] {
  const joined = new Map<string, PolicyRule>();
  for (const { verbs, ...rest } of rules) {
    const key = JSON.stringify([rest.apiGroups, rest.resources, rest.resourceNames, rest.nonResourceURLs]);
    const known = joined.get(key);
    joined.set(key, { ...rest, verbs: [...new Set([...(known?.verbs ?? []), ...(verbs ?? [])])] });
  }
  return [...joined.values()];
}
