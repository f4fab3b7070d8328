import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { Subject } from "../rbac/binding.ts";
import type { PolicyRule } from "../rbac/policy-rule.ts";
import type { RoleBinding } from "../rbac/role-bindings.ts";
import type { ClusterRole, Role } from "../rbac/roles.ts";

export type RbacBuilder = ReturnType<typeof rbacBuilder>;

/** Short functions for writing the default policy: objects, and rules for resources in an API group. */
export function rbacBuilder(names: Names) {
  const group = names.group("rbac.authorization");
  const apiVersion = `${group}/v1`;
  const metadata = (name: string, labels: Record<string, string> = {}) => ({
    name,
    labels: { [names.key("bootstrapping")]: "rbac-defaults", ...labels },
    annotations: { [names.subdomainKey("rbac.authorization", "autoupdate")]: "true" },
  });

  /** The label of the parts of an aggregated role. */
  const aggregateTo = (role: string, rbacGroup = group): Record<string, string> => ({
    [`${rbacGroup}/aggregate-to-${role}`]: "true",
  });

  /** Makes rules for resources in these API groups. All lists of rules are in alphabetical order (upstream: `NewRule`). */
  const ruleIn =
    (...apiGroups: string[]) =>
    (verbs: string[], resources: string[]): PolicyRule => ({
      verbs: verbs.toSorted(),
      apiGroups: apiGroups.toSorted(),
      resources: resources.toSorted(),
    });

  return {
    clusterRole: (name: string, rules: PolicyRule[]): ClusterRole => ({
      apiVersion,
      kind: "ClusterRole",
      metadata: metadata(name),
      rules,
    }),

    role: ({ name, namespace }: { readonly name: string; readonly namespace: string }, rules: PolicyRule[]): Role => ({
      apiVersion,
      kind: "Role",
      metadata: { ...metadata(name), namespace },
      rules,
    }),

    /** A role that aggregates the roles with its label in either spelling. It can itself be part of another aggregated role. */
    aggregatedRole: (name: string, { partOf }: { readonly partOf?: string } = {}): ClusterRole => ({
      apiVersion,
      kind: "ClusterRole",
      metadata: metadata(name, partOf === undefined ? {} : aggregateTo(partOf)),
      aggregationRule: {
        clusterRoleSelectors: spellingsOf(names, (one) => one.group("rbac.authorization")).map((rbacGroup) => ({
          matchLabels: aggregateTo(name, rbacGroup),
        })),
      },
      rules: null,
    }),

    /** This server's own part of an aggregated role. */
    aggregatedPart: (role: string, rules: PolicyRule[]): ClusterRole => ({
      apiVersion,
      kind: "ClusterRole",
      metadata: metadata(`system:aggregate-to-${role}`, aggregateTo(role)),
      rules,
    }),

    /** Grants the role of the same name. */
    clusterRoleBinding: (name: string, subjects: Subject[]): RoleBinding => ({
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata: metadata(name),
      ...(subjects.length > 0 && { subjects }),
      roleRef: { apiGroup: group, kind: "ClusterRole", name },
    }),

    group: (name: string): Subject => ({ apiGroup: group, kind: "Group", name }),
    user: (name: string): Subject => ({ apiGroup: group, kind: "User", name }),

    inCore: ruleIn(""),
    inCertificates: ruleIn(names.group("certificates")),
    inAuthentication: ruleIn(names.group("authentication")),
    inAuthorization: ruleIn(names.group("authorization")),
    inCoordination: ruleIn(names.group("coordination")),
    inRbac: ruleIn(group),
    inStorage: ruleIn(names.group("storage")),
    inSignet: ruleIn(names.group("signet")),
    inEvents: names.hasUpstreamVersions ? ruleIn("", names.group("events")) : ruleIn(""),
    inEveryGroup: ruleIn("*"),

    paths: (verbs: string[], nonResourceURLs: string[]): PolicyRule => ({
      verbs: verbs.toSorted(),
      nonResourceURLs: nonResourceURLs.toSorted(),
    }),
  };
}
