import type { Names } from "../../api/names.ts";
import { defineResource } from "../../registry/resource-definition.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { object } from "../../schema/schema.ts";
import type { Infer } from "../../schema/schema.ts";
import { onlyNameAndNamespaceSelectable } from "../field-selectors.ts";
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
    group,
    version: "v1",
    kind: "RoleBinding",
    plural: "rolebindings",
    singular: "rolebinding",
    scope: "Namespaced",
    schema: roleBindingSchema,
    validateName: validateRbacName,
    setDefaults: (binding) => withDefaultGroups(binding, group),
    validate: (binding) => validateBinding(binding, rules),
    validateUpdate: (next, previous) => validateBindingUpdate(next, previous, rules),
    allowsCreateOnUpdate: true,
    unsupportedFieldLabel: onlyNameAndNamespaceSelectable,
    columns: bindingColumns(),
  });
}
