import { invalidValue, required } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { atomicList, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { always, omitEmpty, struct } from "../../../machinery/schema/struct.ts";

/** One rule of a role. */
export const policyRule = struct("v1.PolicyRule", "Allows verbs on resources, or on non-resource URLs.", {
  verbs: always(1, atomicList(string), "The verbs that are allowed; `*` is every verb.", { isRequired: true }),
  apiGroups: omitEmpty(
    2,
    atomicList(string),
    'The groups of the resources; `""` is the core group, `*` is every group.',
  ),
  resources: omitEmpty(
    3,
    atomicList(string),
    "Resources, and subresources as `resource/subresource`; `*` is every resource.",
  ),
  resourceNames: omitEmpty(
    4,
    atomicList(string),
    "Allows only objects with these names. When empty, every name is allowed.",
  ),
  nonResourceURLs: omitEmpty(
    5,
    atomicList(string),
    "Non-resource URLs such as `/healthz`; a `*` at the end matches any rest. Only in cluster roles.",
  ),
});

export type PolicyRule = Infer<typeof policyRule>;

/** The rules that allow everything. */
export const everyPermission: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

/** Returns every fault of a rule (upstream: `ValidatePolicyRule`). */
export function validatePolicyRule(
  rule: PolicyRule,
  { field, isNamespaced }: { readonly field: string; readonly isNamespaced: boolean },
): FieldError[] {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const faults: FieldError[] = [];
  if ((verbs ?? []).length === 0) faults.push(required(`${field}.verbs`, "verbs must contain at least one value"));
  if (nonResourceURLs.length > 0) {
    const urls = `${field}.nonResourceURLs`;
    if (isNamespaced) {
      faults.push(
        invalidValue(urls, { value: nonResourceURLs, detail: "namespaced rules cannot apply to non-resource URLs" }),
      );
    }
    if (apiGroups.length + resources.length + resourceNames.length > 0) {
      const detail = "rules cannot apply to both regular resources and non-resource URLs";
      faults.push(invalidValue(urls, { value: nonResourceURLs, detail }));
    }
    return faults;
  }
  if (apiGroups.length === 0) {
    faults.push(required(`${field}.apiGroups`, "resource rules must supply at least one api group"));
  }
  if (resources.length === 0) {
    faults.push(required(`${field}.resources`, "resource rules must supply at least one resource"));
  }
  return faults;
}

/** A role without rules is stored with null, whether the client sent an empty list or nothing. */
export const withNullForNoRules = <T extends { rules: PolicyRule[] | null }>(role: T): T =>
  role.rules?.length === 0 ? { ...role, rules: null } : role;
