import { roleBindingResource } from "../resources.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineResource } from "../../../machinery/registry/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/resource-definition.ts";
import { object } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { onlyNameAndNamespaceSelectable } from "../../../machinery/registry/field-selectors.ts";
import { bindingColumns, bindingFields, validateBinding, validateBindingUpdate, withDefaultGroups } from "./binding.ts";
import { validateRbacName } from "./roles.ts";

const roleBindingSchema = object({
  goType: "v1.RoleBinding",
  description: "Gives a role to users, groups and service accounts within a namespace.",
  fields: bindingFields,
});

export type RoleBinding = Infer<typeof roleBindingSchema>;

export function roleBindings(names: Names): ResourceDefinition<RoleBinding> {
  const group = names.group("rbac.authorization");
  const rules = { group, isNamespaced: true };
  return defineResource({
    ...roleBindingResource(names),
    singular: "rolebinding",
    schema: roleBindingSchema,
    validateName: validateRbacName,
    setDefaults: (binding) => withDefaultGroups(binding, group),
    validate: (binding) => validateBinding(binding, rules),
    validateUpdate: (next, previous) => validateBindingUpdate(next, previous, rules),
    allowsCreateOnUpdate: true,
    unsupportedFieldLabel: onlyNameAndNamespaceSelectable,
    columns: bindingColumns({
      names,
      bindingName: "roleBinding",
      roleDescription:
        "RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
    }),
  });
}
