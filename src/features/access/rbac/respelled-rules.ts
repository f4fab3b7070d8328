import type { AccessSpelling } from "../../../machinery/authorization/own-spelling.ts";
import type { PolicyRule } from "./policy-rule.ts";

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
