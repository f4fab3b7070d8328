import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { labelSelector } from "../../../machinery/schema/label-selector-schema.ts";
import { named, string, uniqueList } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { always, atomicStruct, omitEmpty, pointer, struct } from "../../../machinery/schema/struct.ts";
import { matchResources } from "./match-resources-schema.ts";

const paramRef = atomicStruct("v1.ParamRef", "Objects that a policy reads as params.", {
  name: omitEmpty(1, string, "The name of one object. Excludes selector."),
  namespace: omitEmpty(
    2,
    string,
    "Its namespace. Empty: that of the written object. Not for kinds without namespaces.",
  ),
  selector: pointer(3, labelSelector, "Objects by their labels: the policy is evaluated for each of them."),
  parameterNotFoundAction: pointer(
    4,
    named(string, "v1.ParameterNotFoundActionType"),
    "What it means that there is no such object: Allow skips the binding, Deny fails it.",
    { default: "Deny" },
  ),
});

const bindingSpec = struct("v1.ValidatingAdmissionPolicyBindingSpec", "Where a policy applies, and what it does.", {
  policyName: omitEmpty(1, string, "The name of the policy. A policy that does not exist does nothing."),
  paramRef: pointer(2, paramRef, "The params, for a policy with a paramKind."),
  matchResources: pointer(3, matchResources, "Which of the writes that the policy checks are meant. Absent: all."),
  validationActions: omitEmpty(
    4,
    uniqueList(named(string, "v1.ValidationAction")),
    "What a failed validation does: Deny refuses the write, Warn sends a warning, Audit annotates the audit event.",
  ),
});

export const bindingSchema = struct(
  "v1.ValidatingAdmissionPolicyBinding",
  "Puts a ValidatingAdmissionPolicy into force.",
  { ...objectFields, spec: always(2, bindingSpec, "Where the policy applies, and what it does.") },
);

export type ValidatingAdmissionPolicyBinding = Infer<typeof bindingSchema>;
export type BindingSpec = Infer<typeof bindingSpec>;
export type ParamRef = Infer<typeof paramRef>;
