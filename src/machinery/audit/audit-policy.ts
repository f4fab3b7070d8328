import type { Names } from "../api/names.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { ParsedRequestInfo } from "../http/parse-request-info.ts";
import type { AuditLevel, AuditStage } from "./audit-event.ts";

/** `Policy` of `audit.k8s.io/v1`: the first rule that matches decides. What no rule matches is not recorded. */
export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
}

/** What a rule leaves empty matches everything. */
export interface AuditRule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  /** "" stands for requests without a namespace. */
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  /** Those of the rule and of the policy. */
  readonly omitStages: readonly AuditStage[];
  /** The rule's, or else the policy's. */
  readonly omitManagedFields: boolean;
}

export interface GroupResources {
  /** In the server's own spelling. */
  readonly group: string;
  /** `pods`, `pods/log`, all subresources of one resource, one subresource of all, or `*`. Empty: all of the group. */
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** What a rule decides. */
export type AuditDecision = Pick<AuditRule, "level" | "omitStages" | "omitManagedFields">;

/** Without a policy file: every request at level Metadata, once it is answered. */
export const defaultAuditPolicy: AuditPolicy = {
  rules: [
    {
      level: "Metadata",
      users: [],
      userGroups: [],
      verbs: [],
      resources: [],
      namespaces: [],
      nonResourceURLs: [],
      omitStages: ["RequestReceived"],
      omitManagedFields: false,
    },
  ],
};

const notRecorded: AuditDecision = { level: "None", omitStages: [], omitManagedFields: false };

/** What is known of a request when it is decided how much of it to record. */
export interface AuditSubject {
  /** Undefined when the request could not be parsed. */
  readonly info: ParsedRequestInfo | undefined;
  /** Undefined when authentication failed. */
  readonly user: UserInfo | undefined;
}

/** Upstream: `policy.policyRuleEvaluator`. Both spellings of a group are the same. */
export function decideAudit({ rules }: AuditPolicy, subject: AuditSubject, names: Names): AuditDecision {
  return rules.find((rule) => matches(rule, subject, names)) ?? notRecorded;
}

function matches(rule: AuditRule, { info, user }: AuditSubject, names: Names): boolean {
  const { users, userGroups, verbs, namespaces, resources, nonResourceURLs } = rule;
  if (users.length > 0 && (user === undefined || !users.includes(user.username))) return false;
  if (userGroups.length > 0 && !(user?.groups.some((group) => userGroups.includes(group)) ?? false)) return false;
  if (verbs.length > 0 && !verbs.includes(info?.verb ?? "")) return false;
  const isResource = info !== undefined && info.kind !== "path";
  if (namespaces.length > 0 || resources.length > 0) return isResource && matchesResource(rule, info, names);
  if (nonResourceURLs.length > 0) {
    return info?.kind === "path" && nonResourceURLs.some((url) => matchesPath(url, info.path));
  }
  return true;
}

type ObjectInfo = Exclude<ParsedRequestInfo, { readonly kind: "path" }>;

function matchesResource({ namespaces, resources }: AuditRule, info: ObjectInfo, names: Names): boolean {
  if (namespaces.length > 0 && !namespaces.includes(info.namespace)) return false;
  if (resources.length === 0) return true;
  const group = names.ownGroup(info.group);
  return resources.some((one) => one.group === group && matchesGroupResources(one, info));
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
