import { roleResource } from "../resources.ts";
import type { FieldError } from "../../../machinery/api/field-error.ts";
import { validatePathSegmentName } from "../../../machinery/api/name-validation.ts";
import type { ValidateName } from "../../../machinery/api/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineResource } from "../../../machinery/registry/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/resource-definition.ts";
import { typeMetaFields } from "../../../machinery/schema/meta-schemas.ts";
import { objectMeta } from "../../../machinery/schema/object-meta-schema.ts";
import { atomicList, object } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { createdAtColumn, nameColumn } from "../../../machinery/registry/columns.ts";
import { onlyNameAndNamespaceSelectable } from "../../../machinery/registry/field-selectors.ts";
import { policyRule, validatePolicyRule, withNullForNoRules } from "./policy-rule.ts";

const roleSchema = object({
  goType: "v1.Role",
  description: "Rules within a namespace, which a RoleBinding grants to users.",
  fields: {
    ...typeMetaFields,
    metadata: { number: 1, schema: objectMeta, presence: "always", description: "Standard object metadata." },
    rules: {
      number: 2,
      schema: atomicList(policyRule),
      presence: "always",
      isRequired: true,
      description: "What the role allows.",
    },
  },
});

export type Role = Infer<typeof roleSchema>;

/** RBAC's kinds allow any name that is valid in a path, and validate a generateName like a name. */
export const validateRbacName: ValidateName = (name) => validatePathSegmentName(name, { isPrefix: false });

export const roles = (names: Names): ResourceDefinition<Role> =>
  defineResource({
    ...roleResource(names),
    singular: "role",
    schema: roleSchema,
    validateName: validateRbacName,
    prepareForCreate: withNullForNoRules,
    prepareForUpdate: withNullForNoRules,
    validate,
    validateUpdate: validate,
    allowsCreateOnUpdate: true,
    unsupportedFieldLabel: onlyNameAndNamespaceSelectable,
    columns: [nameColumn(names), createdAtColumn(names)],
  });

const validate = ({ rules }: Role): FieldError[] =>
  (rules ?? []).flatMap((rule, index) => validatePolicyRule(rule, { field: `rules[${index}]`, isNamespaced: true }));
