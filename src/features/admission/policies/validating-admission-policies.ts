import { validateConditions } from "./condition-validation.ts";
import {
  duplicate,
  invalidValue,
  invalidValues,
  required,
  tooMany,
  validateChoice,
} from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import { qualifiedNameFaults } from "../../../machinery/api/validation/label-validation.ts";
import {
  dns1035LabelFaults,
  dnsSubdomainFaults,
  validateDnsSubdomainName,
} from "../../../machinery/api/validation/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ObjectMeta } from "../../../machinery/api/object-meta.ts";
import { parseApiVersion } from "../../../machinery/api/resource-type.ts";
import { reservedWords } from "../../../machinery/expressions/reserved-words.ts";
import { ageColumn, nameColumn } from "../../../machinery/registry/definition/columns.ts";
import { defineResource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/definition/resource-definition.ts";
import { policyResource } from "../resources.ts";
import { failurePolicies, policySchema } from "./policy-schema.ts";
import type { PolicySpec, Validation, ValidatingAdmissionPolicy } from "./policy-schema.ts";
import { validateMatchResources } from "./match-resources-schema.ts";

const maximumConditions = 64;
const maximumAuditAnnotations = 20;
const longestValueExpressionBytes = 5 * 1024;
const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
/** The most expressions, because each may be evaluated for every write. */
const maximumExpressions = 256;

/** Rules in CEL for writes. An admission rule compiles the expressions, so that CEL is loaded only when a policy is written. */
export const validatingAdmissionPolicies = (names: Names): ResourceDefinition<ValidatingAdmissionPolicy> =>
  defineResource({
    ...policyResource(names),
    categories: ["api-extensions"],
    schema: policySchema,
    validateName: validateDnsSubdomainName,
    allowsShortFinalizers: true,
    allowsUnconditionalUpdate: false,
    prepareForCreate: (policy) => ({
      ...policy,
      metadata: { ...policy.metadata, generation: 1 },
      status: { observedGeneration: 1 },
    }),
    prepareForUpdate(next, { previous }) {
      const generation = (previous.metadata.generation ?? 0) + Number(!isSemanticallyEqual(next.spec, previous.spec));
      return {
        ...next,
        metadata: { ...next.metadata, generation },
        // The server has compiled the stored spec, so it is in force.
        status: { ...previous.status, observedGeneration: generation },
      };
    },
    validate: ({ metadata, spec }) => validateSpec(spec, metadata.name ?? ""),
    validateUpdate: ({ metadata, spec }) => ["metadata", ...validateSpec(spec, metadata.name ?? "")],
    subresources: {
      status: {
        type: "update",
        prepareForUpdate: (next, { previous }) => ({
          ...previous,
          metadata: metadataForStatus(next.metadata, previous.metadata),
          status: next.status,
        }),
        validateUpdate: ({ status }, { previous }) => [
          "no metadata",
          ...(isSemanticallyEqual(status, previous.status) ? [] : validateStatus(status)),
        ],
        resetFields: [["metadata"], ["spec"]],
      },
    },
    resetFields: [["status"]],
    columns: [
      nameColumn(names),
      {
        name: "Validations",
        type: "integer",
        description: "Validations indicates the number of validation rules defined in this configuration",
        cell: ({ spec }) => (spec.validations ?? []).length,
      },
      {
        name: "ParamKind",
        description: "ParamKind specifies the kind of resources used to parameterize this policy",
        cell({ spec }) {
          const kind = spec.paramKind;
          return kind === undefined ? "<unset>" : `${kind.apiVersion ?? ""}/${kind.kind ?? ""}`;
        },
      },
      ageColumn(names),
    ],
  });

/** The metadata for a write of the status, which must not change other metadata (upstream: `metav1.ResetObjectMetaForStatus`). */
function metadataForStatus(next: ObjectMeta, previous: ObjectMeta): ObjectMeta {
  const {
    labels: _labels,
    annotations: _annotations,
    finalizers: _finalizers,
    ownerReferences: _owners,
    ...rest
  } = next;
  const { labels, annotations, finalizers, ownerReferences } = previous;
  return {
    ...rest,
    ...(labels !== undefined && { labels }),
    ...(annotations !== undefined && { annotations }),
    ...(finalizers !== undefined && { finalizers }),
    ...(ownerReferences !== undefined && { ownerReferences }),
  };
}

/** Returns every fault of a status (upstream: `validateValidatingAdmissionPolicyStatus`). */
const validateStatus = ({ typeChecking, conditions = [] }: ValidatingAdmissionPolicy["status"]): FieldError[] => [
  ...(typeChecking?.expressionWarnings ?? []).flatMap(({ fieldRef, warning }, index) => {
    const field = `status.typeChecking.expressionWarnings[${index}]`;
    return [
      ...(warning === "" ? [required(`${field}.warning`, "")] : []),
      ...(fieldRef.trim() === "" ? [required(`${field}.fieldRef`, "")] : []),
    ];
  }),
  ...validateConditions(conditions, "status.conditions"),
];

/** Returns every fault of a spec, except those of compiling the expressions (upstream: `validateValidatingAdmissionPolicySpec`). */
function validateSpec(spec: PolicySpec, name: string): FieldError[] {
  const { failurePolicy, paramKind, matchConstraints, validations = [], auditAnnotations = [] } = spec;
  const { matchConditions = [], variables = [] } = spec;
  const expressions = validations.length + auditAnnotations.length + matchConditions.length + variables.length;
  if (expressions > maximumExpressions) {
    return [
      invalidValue("spec", { value: expressions, detail: `must have at most ${maximumExpressions} expressions` }),
    ];
  }
  return [
    ...validateChoice("spec.failurePolicy", { value: failurePolicy, supported: failurePolicies }),
    ...(paramKind === undefined ? [] : validateParamKind(paramKind)),
    ...(matchConstraints === undefined
      ? [required("spec.matchConstraints", "")]
      : validateMatchResources(matchConstraints, "spec.matchConstraints")),
    ...(matchConstraints !== undefined && (matchConstraints.resourceRules ?? []).length === 0
      ? [required("spec.matchConstraints.resourceRules", "")]
      : []),
    ...validateMatchConditions(matchConditions),
    ...variables.flatMap((variable, index) => validateVariable(variable, `spec.variables[${index}]`)),
    ...(validations.length === 0 && auditAnnotations.length === 0
      ? ["validations", "auditAnnotations"].map((field) =>
          required(`spec.${field}`, "validations or auditAnnotations must contain at least one item"),
        )
      : []),
    ...validations.flatMap((validation, index) => validateValidation(validation, `spec.validations[${index}]`)),
    ...validateAuditAnnotations(auditAnnotations, name),
  ];
}

function validateApiVersion(apiVersion: string, field: string): FieldError[] {
  if (apiVersion === "") return [required(field, "")];
  const parsed = parseApiVersion(apiVersion);
  if (parsed === undefined) {
    return [invalidValue(field, { value: apiVersion, detail: `unexpected GroupVersion string: ${apiVersion}` })];
  }
  const { group, version } = parsed;
  return [
    ...invalidValues(field, { value: group, details: group === "" ? [] : joined(dnsSubdomainFaults(group)) }),
    ...(version === ""
      ? [invalidValue(field, { value: apiVersion, detail: "version must be specified" })]
      : invalidValues(field, { value: version, details: joined(dns1035LabelFaults(version)) })),
  ];
}

function validateParamKind({ apiVersion = "", kind = "" }: NonNullable<PolicySpec["paramKind"]>): FieldError[] {
  const field = "spec.paramKind";
  return [
    ...validateApiVersion(apiVersion, `${field}.apiVersion`),
    ...(kind === ""
      ? [required(`${field}.kind`, "")]
      : joined(dns1035LabelFaults(kind.toLowerCase())).map((faults) =>
          invalidValue(`${field}.kind`, {
            value: kind,
            detail: `may have mixed case, but should otherwise match: ${faults}`,
          }),
        )),
  ];
}

/** Joins all faults of a name into one, as upstream does. */
const joined = (faults: readonly string[]): string[] => (faults.length === 0 ? [] : [faults.join(",")]);

function validateMatchConditions(conditions: NonNullable<PolicySpec["matchConditions"]>): FieldError[] {
  const field = "spec.matchConditions";
  if (conditions.length > maximumConditions) {
    return [tooMany(field, { count: conditions.length, maximum: maximumConditions })];
  }
  const names = new Set<string>();
  return conditions.flatMap(({ name, expression }, index) => {
    const at = `${field}[${index}]`;
    const isKnown = name !== "" && names.has(name);
    names.add(name);
    return [
      ...(expression.trim() === "" ? [required(`${at}.expression`, "")] : []),
      ...(name === ""
        ? [required(`${at}.name`, "")]
        : invalidValues(`${at}.name`, { value: name, details: qualifiedNameFaults(name) })),
      ...(isKnown ? [duplicate(`${at}.name`, name)] : []),
    ];
  });
}

function validateVariable({ name, expression }: { name: string; expression: string }, field: string): FieldError[] {
  return [
    ...(name.trim() === ""
      ? [required(`${field}.name`, "name is not specified")]
      : /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reservedWords.has(name)
        ? []
        : [invalidValue(`${field}.name`, { value: name, detail: "must be a valid CEL identifier" })]),
    ...(expression.trim() === "" ? [required(`${field}.expression`, "expression is not specified")] : []),
  ];
}

function validateValidation(validation: Validation, field: string): FieldError[] {
  const { expression, message = "", reason } = validation;
  const nonEmpty = (name: "message" | "messageExpression"): FieldError[] => {
    const { [name]: text = "" } = validation;
    const detail = "must be non-empty if specified";
    return text !== "" && text.trim() === "" ? [invalidValue(`${field}.${name}`, { value: text, detail })] : [];
  };
  return [
    ...(expression.trim() === "" ? [required(`${field}.expression`, "expression is not specified")] : []),
    ...nonEmpty("messageExpression"),
    ...nonEmpty("message"),
    ...(/[\n\r]/.test(message.trim())
      ? [invalidValue(`${field}.message`, { value: message, detail: "must not contain line breaks" })]
      : []),
    ...validateChoice(`${field}.reason`, { value: reason, supported: reasons }),
  ];
}

function validateAuditAnnotations(
  annotations: NonNullable<PolicySpec["auditAnnotations"]>,
  name: string,
): FieldError[] {
  const field = "spec.auditAnnotations";
  if (annotations.length > maximumAuditAnnotations) {
    const detail = `must not have more than ${maximumAuditAnnotations} auditAnnotations`;
    const value = annotations.map(({ key: Key, valueExpression: ValueExpression }) => ({ Key, ValueExpression }));
    return [invalidValue(field, { value, detail })];
  }
  const keys = new Set<string>();
  return annotations.flatMap(({ key, valueExpression }, index) => {
    const at = `${field}[${index}]`;
    const isKnown = keys.has(key);
    keys.add(key);
    const expression = valueExpression.trim();
    return [
      ...(name === ""
        ? [invalidValue(`${at}.key`, { value: key, detail: "requires metadata.name be non-empty" })]
        : invalidValues(`${at}.key`, { value: `${name}/${key}`, details: qualifiedNameFaults(`${name}/${key}`) })),
      ...(expression === ""
        ? [required(`${at}.valueExpression`, "valueExpression is not specified")]
        : Buffer.byteLength(expression) > longestValueExpressionBytes
          ? [required(`${at}.valueExpression`, `must not exceed ${longestValueExpressionBytes} bytes in length`)]
          : []),
      ...(isKnown ? [duplicate(`${at}.key`, key)] : []),
    ];
  });
}
