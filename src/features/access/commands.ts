export { auth, whoami } from "./commands/auth-command.ts";
export { clusterRole, role } from "./commands/role-commands.ts";
export { clusterRoleBinding, roleBinding } from "./commands/binding-commands.ts";
