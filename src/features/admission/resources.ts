import { resourceType } from "../../machinery/api/resource-type.ts";
import type { ValidatingAdmissionPolicy } from "./policies/policy-schema.ts";
import type { ValidatingAdmissionPolicyBinding } from "./policies/validating-admission-policy-bindings.ts";

export const policyResource = resourceType<ValidatingAdmissionPolicy>({
  group: "admissionregistration",
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  scope: "Cluster",
});
export const policyBindingResource = resourceType<ValidatingAdmissionPolicyBinding>({
  group: "admissionregistration",
  kind: "ValidatingAdmissionPolicyBinding",
  scope: "Cluster",
});
