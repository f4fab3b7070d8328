import { NamedText } from "../../../machinery/api/text/format-value.ts";
import {
  duplicate,
  invalidValue,
  invalidValues,
  required,
  validateChoice,
} from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import {
  dnsSubdomainFaults,
  pathSegmentFaults,
  validateDnsSubdomainName,
} from "../../../machinery/api/validation/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { ageColumn, nameColumn } from "../../../machinery/registry/definition/columns.ts";
import { defineResource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/definition/resource-definition.ts";
import {
  goLabelSelector,
  validateLabelSelector,
  labelSelector,
} from "../../../machinery/schema/label-selector-schema.ts";
import { policyBindingResource } from "../resources.ts";
import { nameAndSelector, validateMatchResources, matchResources } from "./match-resources-schema.ts";
import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { named, oneOf, replacedByPatch, setList, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { always, atomicStruct, omitEmpty, pointer, struct } from "../../../machinery/schema/struct.ts";

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
    "What it means that there is no such object: Allow skips the binding, Deny fails it. Required.",
  ),
});

const actions = ["Audit", "Deny", "Warn"];

const bindingSpec = struct("v1.ValidatingAdmissionPolicyBindingSpec", "Where a policy applies, and what it does.", {
  policyName: omitEmpty(1, string, "The name of the policy. A policy that does not exist does nothing.", {
    isRequired: true,
  }),
  paramRef: pointer(2, paramRef, "The params, for a policy with a paramKind."),
  matchResources: pointer(3, matchResources, "Which of the writes that the policy checks are meant. Absent: all."),
  validationActions: omitEmpty(
    4,
    replacedByPatch(setList(named(oneOf(actions), "v1.ValidationAction"))),
    "What a failed validation does: Deny refuses the write, Warn sends a warning, Audit annotates the audit event.",
    { isRequired: true },
  ),
});

const bindingSchema = struct("v1.ValidatingAdmissionPolicyBinding", "Puts a ValidatingAdmissionPolicy into force.", {
  ...objectFields,
  spec: always(2, bindingSpec, "Where the policy applies, and what it does.", { isRequired: true }),
});

export type ValidatingAdmissionPolicyBinding = Infer<typeof bindingSchema>;
type BindingSpec = Infer<typeof bindingSpec>;
export type ParamRef = Infer<typeof paramRef>;

/** Bindings, which put policies into force. */
export const validatingAdmissionPolicyBindings = (names: Names): ResourceDefinition<ValidatingAdmissionPolicyBinding> =>
  defineResource({
    ...policyBindingResource(names),
    categories: ["api-extensions"],
    schema: bindingSchema,
    validateName: validateDnsSubdomainName,
    allowsShortFinalizers: true,
    allowsUnconditionalUpdate: false,
    prepareForCreate: (binding) => ({ ...binding, metadata: { ...binding.metadata, generation: 1 } }),
    prepareForUpdate(next, { previous }) {
      const { generation = 0 } = previous.metadata;
      const isChanged = !isSemanticallyEqual(next.spec, previous.spec);
      return { ...next, metadata: { ...next.metadata, generation: generation + Number(isChanged) } };
    },
    validate: ({ spec }) => validateSpec(spec),
    validateUpdate: ({ spec }) => ["metadata", ...validateSpec(spec)],
    columns: [
      nameColumn(names),
      {
        name: "PolicyName",
        description: "PolicyName indicates the policy definition which the policy binding binded to",
        cell: ({ spec }) => spec.policyName ?? "",
      },
      {
        name: "ParamRef",
        description: "ParamRef indicates the param resource which sets the configuration param",
        cell: ({ spec }) => paramRefText(spec.paramRef),
      },
      ageColumn(names),
    ],
  });

/** The params of a binding as a table shows them (upstream: `printValidatingAdmissionPolicyBinding`). */
function paramRefText({ name = "", namespace = "", selector }: ParamRef = {}): string {
  if (name !== "") return `${namespace === "" ? "*" : namespace}/${name}`;
  return selector === undefined ? "<unset>" : goLabelSelector(selector);
}

/** Returns every fault of a spec (upstream: `validateValidatingAdmissionPolicyBindingSpec`). */
function validateSpec({
  policyName = "",
  paramRef,
  matchResources,
  validationActions = [],
}: BindingSpec): FieldError[] {
  return [
    ...(policyName === ""
      ? [required("spec.policyName", "")]
      : invalidValues("spec.policyName", {
          value: policyName,
          details: dnsSubdomainFaults(policyName),
        })),
    ...(paramRef === undefined ? [] : validateParamRef(paramRef, "spec.paramRef")),
    ...(matchResources === undefined ? [] : validateMatchResources(matchResources, "spec.matchResources")),
    ...validateActions(validationActions, "spec.validationActions"),
  ];
}

function validateParamRef(
  { name = "", selector, parameterNotFoundAction = "" }: ParamRef,
  field: string,
): FieldError[] {
  const notFound = ["Deny", "Allow"];
  const isBoth = name !== "" && selector !== undefined;
  return [
    ...(name === "" ? [] : invalidValues(`${field}.name`, { value: name, details: pathSegmentFaults(name) })),
    ...(isBoth ? [nameAndSelector(`${field}.name`)] : []),
    ...(selector === undefined ? [] : validateLabelSelector(selector, `${field}.selector`)),
    ...(isBoth ? [nameAndSelector(`${field}.selector`)] : []),
    ...(name === "" && selector === undefined ? [required(field, "one of name or selector must be specified")] : []),
    ...(parameterNotFoundAction === ""
      ? [required(`${field}.parameterNotFoundAction`, "")]
      : validateChoice(`${field}.parameterNotFoundAction`, { value: parameterNotFoundAction, supported: notFound })),
  ];
}

function validateActions(given: readonly string[], field: string): FieldError[] {
  const seen = new Set<string>();
  const faults = given.flatMap((action, index) => {
    const at = `${field}[${index}]`;
    const isKnown = seen.has(action);
    seen.add(action);
    return [
      ...validateChoice(at, { value: action, supported: actions }),
      ...(isKnown ? [duplicate(at, new NamedText(action))] : []),
    ];
  });
  if (seen.has("Deny") && seen.has("Warn")) {
    const detail =
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
    faults.push(invalidValue(field, { value: given, detail }));
  }
  return given.length === 0 ? [required(field, "at least one validation action is required")] : faults;
}
