import { invalidValue, required } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { pathSegmentFaults } from "../../../machinery/api/validation/name-validation.ts";
import type { ValidateName } from "../../../machinery/api/validation/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import { createdAtColumn, nameColumn } from "../../../machinery/registry/definition/columns.ts";
import type { KindFault } from "../../../machinery/registry/definition/kind-faults.ts";
import { defineResource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/definition/resource-definition.ts";
import { labelSelector, validateLabelSelector } from "../../../machinery/schema/label-selector-schema.ts";
import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { atomicList, object } from "../../../machinery/schema/schema.ts";
import type { Field, Infer } from "../../../machinery/schema/schema.ts";
import { clusterRoleResource, roleResource } from "../resources.ts";
import { policyRule, validatePolicyRule, withNullForNoRules } from "./policy-rule.ts";
import type { PolicyRule } from "./policy-rule.ts";
import { always, omitEmpty, pointer, struct } from "../../../machinery/schema/struct.ts";

const roleFields = {
  ...objectFields,
  rules: always(2, atomicList(policyRule), "What the role allows."),
} as const satisfies Record<string, Field>;

const roleSchema = struct("v1.Role", "Rules within a namespace, which a RoleBinding grants to users.", roleFields);

const clusterRoleSchema = struct(
  "v1.ClusterRole",
  "Rules that a ClusterRoleBinding grants in all namespaces, and a RoleBinding in its own.",
  {
    ...roleFields,
    aggregationRule: pointer(
      3,
      object({
        goType: "v1.AggregationRule",
        description: "Selects the cluster roles whose rules are combined.",
        fields: {
          clusterRoleSelectors: omitEmpty(
            1,
            atomicList(labelSelector),
            "Cluster roles that any of these select are included.",
          ),
        },
      }),
      "Combines the rules of other cluster roles. The controller overwrites rules that were written by hand.",
    ),
  },
);

export type Role = Infer<typeof roleSchema>;
export type ClusterRole = Infer<typeof clusterRoleSchema>;

/** RBAC's kinds allow any name that is valid in a path, and validate a generateName like a name. */
export const validateRbacName: ValidateName = pathSegmentFaults;

export const roles = (names: Names): ResourceDefinition<Role> =>
  defineResource<Role>({
    ...roleResource(names),
    schema: roleSchema,
    ...roleDefinition(names, (role: Role) => ruleFaults(role, { isNamespaced: true })),
  });

export const clusterRoles = (names: Names): ResourceDefinition<ClusterRole> =>
  defineResource<ClusterRole>({
    ...clusterRoleResource(names),
    schema: clusterRoleSchema,
    ...roleDefinition(names, (role: ClusterRole) => [
      ...ruleFaults(role, { isNamespaced: false }),
      ...(role.aggregationRule === undefined
        ? []
        : validateAggregation(role.aggregationRule.clusterRoleSelectors ?? [])),
    ]),
  });

interface Rules extends ApiObject {
  rules: PolicyRule[] | null;
}

/** What both kinds of role have in common. */
const roleDefinition = <T extends Rules>(names: Names, validate: (role: T) => FieldError[]) => ({
  validateName: validateRbacName,
  prepareForCreate: withNullForNoRules<T>,
  prepareForUpdate: withNullForNoRules<T>,
  validate,
  validateUpdate: (role: T): KindFault[] => ["metadata", ...validate(role), "metadata change"],
  allowsCreateOnUpdate: true,
  columns: [nameColumn(names), createdAtColumn(names)],
  emptyTableHasNullRows: true,
});

const ruleFaults = ({ rules }: Rules, { isNamespaced }: { readonly isNamespaced: boolean }): FieldError[] =>
  (rules ?? []).flatMap((rule, index) => validatePolicyRule(rule, { field: `rules[${index}]`, isNamespaced }));

function validateAggregation(selectors: readonly Infer<typeof labelSelector>[]): FieldError[] {
  const field = "aggregationRule.clusterRoleSelectors";
  if (selectors.length === 0) {
    return [required(field, "at least one clusterRoleSelector required if aggregationRule is non-nil")];
  }
  return selectors.flatMap((selector, index) => {
    const faults = validateLabelSelector(selector, `${field}[${index}]`);
    if (faults.length === 0) return [];
    // Upstream also tries to use the faulty selector, and adds this error.
    return [...faults, invalidValue(`${field}[${index}]`, { value: null, detail: "invalid label selector." })];
  });
}
