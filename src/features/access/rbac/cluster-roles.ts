import { clusterRoleResource } from "../resources.ts";
import { required } from "../../../machinery/api/field-error.ts";
import type { FieldError } from "../../../machinery/api/field-error.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineResource } from "../../../machinery/registry/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/resource-definition.ts";
import { typeMetaFields } from "../../../machinery/schema/meta-schemas.ts";
import { objectMeta } from "../../../machinery/schema/object-meta-schema.ts";
import { atomicList, object } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { createdAtColumn, nameColumn } from "../../../machinery/registry/columns.ts";
import { onlyNameAndNamespaceSelectable } from "../../../machinery/registry/field-selectors.ts";
import { labelSelector, validateLabelSelector } from "../../../machinery/schema/label-selector-schema.ts";
import { policyRule, validatePolicyRule, withNullForNoRules } from "./policy-rule.ts";
import { validateRbacName } from "./roles.ts";

const clusterRoleSchema = object({
  goType: "v1.ClusterRole",
  description: "Rules that a ClusterRoleBinding grants in all namespaces, and a RoleBinding in its own.",
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
    aggregationRule: {
      number: 3,
      presence: "pointer",
      description:
        "Combines the rules of other cluster roles. The controller overwrites rules that were written by hand.",
      schema: object({
        goType: "v1.AggregationRule",
        description: "Selects the cluster roles whose rules are combined.",
        fields: {
          clusterRoleSelectors: {
            number: 1,
            schema: atomicList(labelSelector),
            description: "Cluster roles that any of these select are included.",
          },
        },
      }),
    },
  },
});

export type ClusterRole = Infer<typeof clusterRoleSchema>;

export const clusterRoles = (names: Names): ResourceDefinition<ClusterRole> =>
  defineResource({
    ...clusterRoleResource(names),
    singular: "clusterrole",
    schema: clusterRoleSchema,
    validateName: validateRbacName,
    prepareForCreate: withNullForNoRules,
    prepareForUpdate: withNullForNoRules,
    validate,
    validateUpdate: validate,
    allowsCreateOnUpdate: true,
    unsupportedFieldLabel: onlyNameAndNamespaceSelectable,
    columns: [nameColumn(names), createdAtColumn(names)],
  });

const validate = ({ rules, aggregationRule }: ClusterRole): FieldError[] => [
  ...(rules ?? []).flatMap((rule, index) =>
    validatePolicyRule(rule, { field: `rules[${index}]`, isNamespaced: false }),
  ),
  ...(aggregationRule === undefined ? [] : validateAggregation(aggregationRule.clusterRoleSelectors ?? [])),
];

function validateAggregation(selectors: readonly Infer<typeof labelSelector>[]): FieldError[] {
  const field = "aggregationRule.clusterRoleSelectors";
  if (selectors.length === 0) {
    return [required(field, "at least one clusterRoleSelector required if aggregationRule is non-nil")];
  }
  return selectors.flatMap((selector, index) => validateLabelSelector(selector, `${field}[${index}]`));
}
