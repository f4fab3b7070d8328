import { clusterRoleBindingResource, roleBindingResource } from "../resources.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineResource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/definition/resource-definition.ts";
import { object } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { bindingDefinition, bindingFields } from "./binding.ts";

const roleBindingSchema = object({
  goType: "v1.RoleBinding",
  description: "Grants a role to users, groups and service accounts within a namespace.",
  fields: bindingFields,
});

export type RoleBinding = Infer<typeof roleBindingSchema>;

export function roleBindings(names: Names): ResourceDefinition<RoleBinding> {
  return defineResource({
    ...roleBindingResource(names),
    schema: roleBindingSchema,
    // The index of subjects takes once or twice the size of the stored bindings in memory.
    quotaShare: 1 / 32,
    ...bindingDefinition(names, {
      isNamespaced: true,
      bindingName: "roleBinding",
      roleDescription:
        "RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
    }),
  });
}

const clusterRoleBindingSchema = object({
  goType: "v1.ClusterRoleBinding",
  description: "Grants a cluster role to users, groups and service accounts in every namespace.",
  fields: bindingFields,
});

type ClusterRoleBinding = Infer<typeof clusterRoleBindingSchema>;

export function clusterRoleBindings(names: Names): ResourceDefinition<ClusterRoleBinding> {
  return defineResource({
    ...clusterRoleBindingResource(names),
    schema: clusterRoleBindingSchema,
    ...bindingDefinition(names, {
      isNamespaced: false,
      bindingName: "clusterRoleBinding",
      roleDescription:
        "RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
    }),
  });
}
