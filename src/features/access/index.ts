export type * from "./rbac-types.ts";
export { roleResource, clusterRoleResource, roleBindingResource, clusterRoleBindingResource } from "./resources.ts";
