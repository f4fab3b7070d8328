import type { PathAttributes, ResourceAttributes } from "../../../machinery/api/attributes.ts";
import type { PolicyRule } from "./policy-rule.ts";

/** Whether a rule allows a request (upstream: `rbac.RuleAllows`). Names must match exactly, including case. */
export const ruleAllows = (rule: PolicyRule, attributes: ResourceAttributes | PathAttributes): boolean =>
  includesOrAll(rule.verbs, attributes.verb) &&
  (attributes.kind === "path"
    ? (rule.nonResourceURLs ?? []).some((pattern) => matchesPath(pattern, attributes.path))
    : includesOrAll(rule.apiGroups, attributes.group) &&
      matchesResource(rule.resources, attributes) &&
      matchesName(rule.resourceNames, attributes.name));

const includesOrAll = (list: readonly string[] | null | undefined, value: string): boolean =>
  list !== null && list !== undefined && (list.includes("*") || list.includes(value));

/** Matches `*`, the resource with its subresource, or `*` with the subresource. `resource/*` is not a pattern. */
function matchesResource(
  resources: readonly string[] | undefined,
  { resource, subresource }: Pick<ResourceAttributes, "resource" | "subresource">,
): boolean {
  if (resources === undefined) return false;
  if (resources.includes("*")) return true;
  if (subresource === "") return resources.includes(resource);
  return resources.includes(`${resource}/${subresource}`) || resources.includes(`*/${subresource}`);
}

const matchesName = (names: readonly string[] | undefined, name: string): boolean =>
  names === undefined || names.length === 0 || names.includes(name);

/** A `*` at the end matches any rest. */
export const matchesPath = (pattern: string, path: string): boolean =>
  pattern === "*" || pattern === path || (pattern.endsWith("*") && path.startsWith(pattern.replace(/\*+$/, "")));
