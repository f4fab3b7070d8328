import type { Names } from "../api/names.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { ParsedRequestInfo } from "../http/request-info.ts";
import { auditApiVersion, auditLevels, auditStages } from "./audit-event.ts";
import type { AuditLevel, AuditStage } from "./audit-event.ts";
import { dnsSubdomainFaults } from "../api/validation/name-validation.ts";
import { Fields, refuseFaults } from "../command-line/settings/fields.ts";
import { parseYamlSettings } from "../command-line/settings/parse-yaml-settings.ts";

/** `Policy` of `audit.k8s.io/v1`: the first rule that matches a request decides. A request that no rule matches is not recorded. */
export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
}

/** An empty field of a rule matches everything. */
interface AuditRule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  /** "" stands for requests without a namespace. */
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  /** The stages that the rule or the policy omits. */
  readonly omitStages: readonly AuditStage[];
  /** The value of the rule, or else of the policy. */
  readonly omitManagedFields: boolean;
}

interface GroupResources {
  /** The name of the group in the spelling of the server's profile; `*` for every group. */
  readonly group: string;
  /** `pods`, `pods/log`, all subresources of one resource, one subresource of all, or `*`. Empty: all resources of the group. */
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** What a rule decides. */
export type AuditDecision = Pick<AuditRule, "level" | "omitStages" | "omitManagedFields">;

/**
 * The policy without a policy file: records every request at level Metadata when it is answered. A strict server also records it before
 * it is served, because it can still be refused then.
 */
export const defaultAuditPolicy = ({ isStrict }: { readonly isStrict: boolean }): AuditPolicy => ({
  rules: [
    {
      level: "Metadata",
      users: [],
      userGroups: [],
      verbs: [],
      resources: [],
      namespaces: [],
      nonResourceURLs: [],
      omitStages: isStrict ? [] : ["RequestReceived"],
      omitManagedFields: false,
    },
  ],
});

const notRecorded: AuditDecision = { level: "None", omitStages: [], omitManagedFields: false };

/** What is known about a request when the policy decides how much of it to record. */
interface AuditSubject {
  /** Undefined when the request could not be parsed. */
  readonly info: ParsedRequestInfo | undefined;
  /** Undefined when authentication failed. */
  readonly user: UserInfo | undefined;
  readonly names: Names;
}

/** Decides how much of a request is recorded (upstream: `policy.policyRuleEvaluator`). Both spellings of a group are equal. */
export function decideAudit({ rules }: AuditPolicy, subject: AuditSubject): AuditDecision {
  return rules.find((rule) => matches(rule, subject)) ?? notRecorded;
}

function matches(rule: AuditRule, { info, user, names }: AuditSubject): boolean {
  const { users, userGroups, verbs, namespaces, resources, nonResourceURLs } = rule;
  if (users.length > 0 && (user === undefined || !users.includes(user.username))) return false;
  if (userGroups.length > 0 && !(user?.groups.some((group) => userGroups.includes(group)) ?? false)) return false;
  if (verbs.length > 0 && !verbs.includes(info?.verb ?? "")) return false;
  const isResource = info !== undefined && info.kind !== "path";
  if (namespaces.length > 0 || resources.length > 0) return isResource && matchesResource(rule, { info, names });
  if (nonResourceURLs.length > 0) {
    return info?.kind === "path" && nonResourceURLs.some((url) => matchesPath(url, info.path));
  }
  return true;
}

type ObjectInfo = Exclude<ParsedRequestInfo, { readonly kind: "path" }>;

function matchesResource(
  { namespaces, resources }: AuditRule,
  { info, names }: { readonly info: ObjectInfo; readonly names: Names },
): boolean {
  if (namespaces.length > 0 && !namespaces.includes(info.namespace)) return false;
  if (resources.length === 0) return true;
  const group = names.ownGroup(info.group);
  return resources.some((one) => (one.group === group || one.group === "*") && matchesGroupResources(one, info));
}

function matchesGroupResources(
  { resources, resourceNames }: GroupResources,
  { resource, subresource, name }: ObjectInfo,
): boolean {
  if (resources.length === 0) return true;
  if (resourceNames.length > 0 && !resourceNames.includes(name)) return false;
  const whole = subresource === "" ? resource : `${resource}/${subresource}`;
  return resources.some(
    (pattern) =>
      pattern === whole ||
      pattern === "*" ||
      (subresource !== "" && pattern === `*/${subresource}`) ||
      (pattern.endsWith("/*") && pattern.slice(0, -2) === resource),
  );
}

const matchesPath = (pattern: string, path: string): boolean =>
  pattern === path || (pattern.endsWith("*") && path.startsWith(pattern.slice(0, -1)));

/**
 * Reads the file of `--audit-policy-file`: a `Policy` of `audit.k8s.io/v1` in YAML or JSON, by upstream's rules. Unknown fields are faults,
 * because a misspelt field would record too little. Throws InvalidSettings with the faults, or an Error for a text that is not YAML.
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
  const namespaces = namespacesOf(rule);
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
  const [fault] = group === "" || group === "*" ? [] : dnsSubdomainFaults(group);
  if (fault !== undefined) fields.fault("group", fault);
  const resources = fields.texts("resources") ?? [];
  const resourceNames = fields.texts("resourceNames") ?? [];
  if (resourceNames.length > 0 && resources.length === 0) {
    fields.fault("resourceNames", "using resourceNames requires at least one resource");
  }
  fields.refuseOthers();
  return { group: names.ownGroup(group), resources, resourceNames };
}

/** An empty namespace stands for requests without a namespace. */
const namespacesOf = (rule: Fields): string[] =>
  rule.list("namespaces", (value, path) => {
    if (typeof value === "string") return value;
    rule.faults.push(`${path}: must be a string`);
    return undefined;
  }) ?? [];

function urlFault(url: string): string | undefined {
  if (url === "*") return undefined;
  if (!url.startsWith("/")) return "must begin with /";
  return url.slice(0, -1).includes("*") ? "* may only be the last character" : undefined;
}
