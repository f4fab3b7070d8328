import type { Names } from "../../../machinery/api/names.ts";
import type { Subject } from "../rbac/binding.ts";
import type { PolicyRule } from "../rbac/policy-rule.ts";
import type { RoleBinding } from "../rbac/role-bindings.ts";
import type { ClusterRole, Role } from "../rbac/roles.ts";

/** Short functions for writing the default policy. */
export function rbacBuilder(names: Names) {
  const group = names.group("rbac.authorization");
  const apiVersion = `${group}/v1`;
  const metadata = (name: string, labels: Record<string, string> = {}) => ({
    name,
    labels: { [names.key("bootstrapping")]: "rbac-defaults", ...labels },
    annotations: { [names.subdomainKey("rbac.authorization", "autoupdate")]: "true" },
  });

  return {
    clusterRole: (name: string, rules: PolicyRule[], labels?: Record<string, string>): ClusterRole => ({
      apiVersion,
      kind: "ClusterRole",
      metadata: metadata(name, labels),
      rules,
    }),

    role: (name: string, namespace: string, rules: PolicyRule[]): Role => ({
      apiVersion,
      kind: "Role",
      metadata: { ...metadata(name), namespace },
      rules,
    }),

    /** A role that aggregates the roles with these labels. */
    aggregatedRole: (
      name: string,
      matchLabels: readonly Record<string, string>[],
      labels?: Record<string, string>,
    ): ClusterRole => ({
      apiVersion,
      kind: "ClusterRole",
      metadata: metadata(name, labels),
      aggregationRule: { clusterRoleSelectors: matchLabels.map((one) => ({ matchLabels: one })) },
      rules: null,
    }),

    clusterRoleBinding: (name: string, roleName: string, subjects: Subject[]): RoleBinding => ({
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata: metadata(name),
      ...(subjects.length > 0 && { subjects }),
      roleRef: { apiGroup: group, kind: "ClusterRole", name: roleName },
    }),

    group: (name: string): Subject => ({ apiGroup: group, kind: "Group", name }),
    user: (name: string): Subject => ({ apiGroup: group, kind: "User", name }),

    rule: (verbs: string[], apiGroups: string[], resources: string[], resourceNames?: string[]): PolicyRule => ({
      verbs,
      apiGroups,
      resources,
      ...(resourceNames !== undefined && { resourceNames }),
    }),

    paths: (verbs: string[], nonResourceURLs: string[]): PolicyRule => ({ verbs, nonResourceURLs }),
  };
}
