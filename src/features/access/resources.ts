import { resourceType } from "../../machinery/api/resource-type.ts";
import type { RoleBinding } from "./rbac/role-bindings.ts";
import type { ClusterRole, Role } from "./rbac/roles.ts";

export const roleResource = resourceType<Role>({ group: "rbac.authorization", kind: "Role", scope: "Namespaced" });
export const clusterRoleResource = resourceType<ClusterRole>({
  group: "rbac.authorization",
  kind: "ClusterRole",
  scope: "Cluster",
});
export const roleBindingResource = resourceType<RoleBinding>({
  group: "rbac.authorization",
  kind: "RoleBinding",
  scope: "Namespaced",
});
export const clusterRoleBindingResource = resourceType<RoleBinding>({
  group: "rbac.authorization",
  kind: "ClusterRoleBinding",
  scope: "Cluster",
});
