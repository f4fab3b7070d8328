import type { AdmissionAttributes } from "../../../machinery/api/attributes.ts";
import { labelMatcher, requirementsOf } from "../../../machinery/api/selectors/label-selector.ts";
import type { Labels } from "../../../machinery/api/selectors/label-selector.ts";
import type { MatchResources, NamedRule } from "../policies/match-resources-schema.ts";

/** A group and version under which the objects of a write are served. */
export interface ServedAs {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** The properties of a write that rules are compared with. */
export interface MatchedWrite {
  readonly attributes: AdmissionAttributes;
  /** The group, version and resource in the path of the request. */
  readonly requested: ServedAs;
  /** Every version that serves the same objects, including the requested one. */
  readonly versions: readonly ServedAs[];
  /** Labels of the object's namespace, or of the written Namespace itself. Undefined: the objects have no namespace. */
  readonly namespaceLabels: () => Labels | undefined;
}

/** Returns the version under which a write matches. Undefined when it does not match. */
export type Matcher = (write: MatchedWrite) => ServedAs | undefined;

/**
 * Compiles a matcher (upstream: `matching.Matcher`). A rule with a group in one spelling also applies to the other spelling. The write then
 * matches under the rule's spelling, because the policy's expressions use this spelling too. `ownGroup` converts groups to the server's own
 * spelling.
 */
export function compileMatcher(match: MatchResources | undefined, ownGroup: (group: string) => string): Matcher {
  if (match === undefined) return ({ requested }) => requested;
  const { resourceRules = [], excludeResourceRules = [], matchPolicy } = match;
  const namespaces = requirementsOf(match.namespaceSelector ?? {});
  const isNamespaceSelected = labelMatcher(namespaces);
  const objects = requirementsOf(match.objectSelector ?? {});
  const isObjectSelected = labelMatcher(objects);
  const included = resourceRules.map(compileRule);
  const excluded = excludeResourceRules.map(compileRule);
  const isExact = matchPolicy === "Exact";
  /** Whether both are the same version, in either spelling of the group. */
  const isRespelled = (one: ServedAs, requested: ServedAs): boolean =>
    one.version === requested.version && ownGroup(one.group) === ownGroup(requested.group);
  const matched = (rules: readonly CompiledRule[], { attributes, requested, versions }: MatchedWrite) => {
    const isMatched = (served: ServedAs): boolean => rules.some((rule) => rule(attributes, served));
    if (isMatched(requested)) return requested;
    const respelled = versions.find((one) => isRespelled(one, requested) && isMatched(one));
    return respelled ?? (isExact ? undefined : versions.find(isMatched));
  };
  return (write) => {
    const { object, oldObject } = write.attributes;
    if (namespaces.length > 0) {
      const labels = write.namespaceLabels();
      if (labels !== undefined && !isNamespaceSelected(labels)) return undefined;
    }
    const isSelected = [object, oldObject].some((one) => one !== undefined && isObjectSelected(one.metadata.labels));
    if (objects.length > 0 && !isSelected) return undefined;
    if (matched(excluded, write) !== undefined) return undefined;
    return included.length === 0 ? write.requested : matched(included, write);
  };
}

type CompiledRule = (attributes: AdmissionAttributes, served: ServedAs) => boolean;

function compileRule(rule: NamedRule): CompiledRule {
  const { resourceNames = [], operations = [], apiGroups = [], apiVersions = [], resources = [], scope = "*" } = rule;
  const includes = (list: readonly string[], value: string): boolean => list.includes("*") || list.includes(value);
  return ({ operation, name, namespace, subresource, resource }, served) => {
    const isNamespaced = namespace !== "" && resource !== "namespaces";
    return (
      includes(operations, operation) &&
      includes(apiGroups, served.group) &&
      includes(apiVersions, served.version) &&
      resources.some((one) => {
        const [main = "", sub = ""] = one.split("/", 2);
        return (main === "*" || main === served.resource) && (sub === "*" || sub === subresource);
      }) &&
      (scope === "*" || isNamespaced === (scope === "Namespaced")) &&
      (resourceNames.length === 0 || resourceNames.includes(name))
    );
  };
}
