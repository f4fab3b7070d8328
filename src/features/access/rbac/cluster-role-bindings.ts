import { clusterRoleBindingResource } from "../resources.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineResource } from "../../../machinery/registry/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/resource-definition.ts";
import { object } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { onlyNameAndNamespaceSelectable } from "../../../machinery/registry/field-selectors.ts";
import { bindingColumns, bindingFields, validateBinding, validateBindingUpdate, withDefaultGroups } from "./binding.ts";
import { validateRbacName } from "./roles.ts";

const clusterRoleBindingSchema = object({
  goType: "v1.ClusterRoleBinding",
  description: "Gives a cluster role to users, groups and service accounts in every namespace.",
  fields: bindingFields,
});

export type ClusterRoleBinding = Infer<typeof clusterRoleBindingSchema>;

export function clusterRoleBindings(names: Names): ResourceDefinition<ClusterRoleBinding> {
  const group = names.group("rbac.authorization");
  const rules = { group, isNamespaced: false };
  return defineResource({
    ...clusterRoleBindingResource(names),
    singular: "clusterrolebinding",
    schema: clusterRoleBindingSchema,
    validateName: validateRbacName,
    setDefaults: (binding) => withDefaultGroups(binding, group),
    validate: (binding) => validateBinding(binding, rules),
    validateUpdate: (next, previous) => validateBindingUpdate(next, previous, rules),
    allowsCreateOnUpdate: true,
    unsupportedFieldLabel: onlyNameAndNamespaceSelectable,
    columns: bindingColumns({
      names,
      bindingName: "clusterRoleBinding",
      roleDescription:
        "RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
    }),
  });
}
