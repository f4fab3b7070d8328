import type { ClusterRole, Role, RoleBinding } from "../rbac-types.ts";

/** Cached roles and bindings. */
export interface RbacObjects {
  /**
   * Grows with every change of a binding. Results about who is bound to which role are valid while it stays the same.
   */
  generation(): number;
  listClusterRoleBindings(): readonly RoleBinding[];
  listRoleBindings(namespace: string): readonly RoleBinding[];
  getClusterRole(name: string): ClusterRole | undefined;
  getRole(namespace: string, name: string): Role | undefined;
}
