export type * from "./rbac-types.ts";
export { roleResource, clusterRoleResource, roleBindingResource, clusterRoleBindingResource } from "./resources.ts";
export { bootstrapPolicy } from "./policy/bootstrap-policy.ts";
export { ruleAllows } from "./rbac/rule-matching.ts";
