export type { PolicyRule } from "./rbac/policy-rule.ts";
export type { RoleBinding } from "./rbac/role-bindings.ts";
export { clusterRoleBindingResource } from "./resources.ts";
export { bootstrapPolicy } from "./policy/bootstrap-policy.ts";
export { ruleAllows } from "./rbac/rbac-authorizer.ts";
