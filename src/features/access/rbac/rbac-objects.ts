import type { ClusterRole, Role, RoleBinding } from "../rbac-types.ts";

/** Roles and bindings in memory. */
export interface RbacObjects {
  /** Grows with every change of a binding: who is bound to which role holds while it lasts. */
  generation(): number;
  listClusterRoleBindings(): readonly RoleBinding[];
  listRoleBindings(namespace: string): readonly RoleBinding[];
  getClusterRole(name: string): ClusterRole | undefined;
  getRole(namespace: string, name: string): Role | undefined;
}
