import { dnsSubdomainFaults } from "../api/name-validation.ts";
import type { Names } from "../api/names.ts";
import { Fields, refuseFaults } from "../command-line/fields.ts";
import { parseYamlSettings } from "../command-line/parse-yaml-settings.ts";
import { auditApiVersion, auditLevels, auditStages } from "./audit-event.ts";
import type { AuditLevel, AuditStage } from "./audit-event.ts";
import type { AuditPolicy, AuditRule, GroupResources } from "./audit-policy.ts";

/**
 * Reads the file of `--audit-policy-file`: a `Policy` of `audit.k8s.io/v1` in YAML or JSON. Upstream's rules hold, and unknown
 * fields are faults: a misspelt field would record too little. Throws InvalidSettings with the faults, or an Error for what
 * is not YAML.
 */
export function parseAuditPolicy(text: string, names: Names): AuditPolicy {
  const faults: string[] = [];
  const root = new Fields(parseYamlSettings(text) ?? {}, { path: "", faults });
  root.type(auditApiVersion, "Policy");
  root.fields("metadata");
  const omitStages = stagesOf(root);
  const omitManagedFields = root.flag("omitManagedFields");
  const rules =
    root.list("rules", (value, path) =>
      parseRule(root.at(value, path), { names, inherited: { omitStages, omitManagedFields } }),
    ) ?? [];
  root.refuseOthers();
  if (rules.length === 0 && faults.length === 0) root.fault("rules", "at least one rule is required");
  refuseFaults(faults);
  return { rules };
}

interface RuleContext {
  readonly names: Names;
  readonly inherited: Pick<AuditRule, "omitStages" | "omitManagedFields">;
}

function parseRule(rule: Fields, { names, inherited }: RuleContext): AuditRule {
  const level = levelOf(rule);
  const users = rule.texts("users") ?? [];
  const userGroups = rule.texts("userGroups") ?? [];
  const verbs = rule.texts("verbs") ?? [];
  const resources = rule.list("resources", (value, path) => parseResources(rule.at(value, path), names)) ?? [];
  const namespaces = rule.list("namespaces", (value, path) => namespaceOf(value, path, rule.faults)) ?? [];
  const nonResourceURLs = rule.texts("nonResourceURLs", urlFault) ?? [];
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)) {
    rule.fault("nonResourceURLs", "rules cannot apply to both regular resources and non-resource URLs");
  }
  const hasOwn = rule.has("omitManagedFields");
  const ownStages = stagesOf(rule);
  const isOmitted = rule.flag("omitManagedFields");
  rule.refuseOthers();
  return {
    level,
    users,
    userGroups,
    verbs,
    resources,
    namespaces,
    nonResourceURLs,
    omitStages: [...new Set([...inherited.omitStages, ...ownStages])],
    omitManagedFields: hasOwn ? isOmitted : inherited.omitManagedFields,
  };
}

function levelOf(rule: Fields): AuditLevel {
  const given = rule.text("level") ?? "";
  const level = auditLevels.find((one) => one === given);
  if (level === undefined) rule.fault("level", oneOf(given, auditLevels));
  return level ?? "None";
}

const stagesOf = (fields: Fields): AuditStage[] =>
  fields.list("omitStages", (value, path) => {
    const stage = auditStages.find((one) => one === value);
    if (stage === undefined) fields.faults.push(`${path}: ${oneOf(value, auditStages)}`);
    return stage;
  }) ?? [];

const oneOf = (given: unknown, choices: readonly string[]): string =>
  `${JSON.stringify(given)} is not one of ${choices.join(", ")}`;

function parseResources(fields: Fields, names: Names): GroupResources {
  const group = fields.text("group") ?? "";
  const [fault] = group === "" ? [] : dnsSubdomainFaults(group);
  if (fault !== undefined) fields.fault("group", fault);
  const resources = fields.texts("resources") ?? [];
  const resourceNames = fields.texts("resourceNames") ?? [];
  if (resourceNames.length > 0 && resources.length === 0) {
    fields.fault("resourceNames", "using resourceNames requires at least one resource");
  }
  fields.refuseOthers();
  return { group: names.ownGroup(group), resources, resourceNames };
}

/** Empty: requests without a namespace. */
function namespaceOf(value: unknown, path: string, faults: string[]): string | undefined {
  if (typeof value === "string") return value;
  faults.push(`${path}: must be a string`);
  return undefined;
}

function urlFault(url: string): string | undefined {
  if (url === "*") return undefined;
  if (!url.startsWith("/")) return "must begin with /";
  return url.slice(0, -1).includes("*") ? "* may only be the last character" : undefined;
}
