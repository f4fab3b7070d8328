import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { metaPackage } from "../../../machinery/schema/object-meta-schema.ts";
import {
  atomicList,
  int64,
  mapList,
  named,
  object,
  oneOf,
  replacedByPatch,
  string,
  time,
} from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { always, atomicStruct, omitEmpty, pointer, required, struct } from "../../../machinery/schema/struct.ts";
import { matchResources } from "./match-resources-schema.ts";

export const failurePolicies = ["Fail", "Ignore"];

const expression = "CEL on object, oldObject, request, params, namespaceObject, variables and authorizer.";

const validation = struct("v1.Validation", "What must be true of a write.", {
  expression: required(1, string, `A condition. ${expression}`),
  message: omitEmpty(2, string, "Said when the condition is false. Without line breaks."),
  reason: pointer(
    3,
    named(string, "v1.StatusReason"),
    "The reason of the refusal: Forbidden, Invalid or RequestEntityTooLarge. Default: Invalid.",
  ),
  messageExpression: omitEmpty(4, string, "CEL for the message, without authorizer. When it fails, message is said."),
});

const policySpec = struct(
  "v1.ValidatingAdmissionPolicySpec",
  "Which writes are checked, and what must be true of them.",
  {
    paramKind: pointer(
      1,
      atomicStruct("v1.ParamKind", "A kind of objects.", {
        apiVersion: omitEmpty(1, string, "The group and version, such as v1."),
        kind: omitEmpty(2, string, "The kind, such as ConfigMap."),
      }),
      "The kind of the objects that bindings name as params.",
    ),
    matchConstraints: pointer(2, matchResources, "Which writes are checked."),
    validations: omitEmpty(3, atomicList(validation), "What must be true of them. All are checked."),
    failurePolicy: pointer(
      4,
      named(oneOf(failurePolicies), "v1.FailurePolicyType"),
      "What an expression or a binding that fails means: Fail refuses the write, Ignore lets it pass.",
      { default: "Fail" },
    ),
    auditAnnotations: omitEmpty(
      5,
      atomicList(
        struct("v1.AuditAnnotation", "An annotation of audit events.", {
          key: required(1, string, "Its key, below the policy's name."),
          valueExpression: required(2, string, `Its value: a text, or null for no annotation. ${expression}`),
        }),
      ),
      "Annotations of the audit events of these writes.",
    ),
    matchConditions: omitEmpty(
      6,
      mapList(
        struct("v1.MatchCondition", "A condition on writes.", {
          name: required(1, string, "Its name."),
          expression: required(2, string, `A condition. ${expression}`),
        }),
        "name",
      ),
      "Conditions that writes must meet to be checked at all. At most 64.",
    ),
    variables: omitEmpty(
      7,
      mapList(
        atomicStruct("v1.Variable", "A value with a name.", {
          name: required(1, string, "Its name: expressions below it read `variables.NAME`."),
          expression: required(2, string, `Its value. ${expression} It is evaluated when it is first read.`),
        }),
        "name",
      ),
      "Values that expressions share. Each may read those before it.",
    ),
  },
);

const condition = object({
  goType: "v1.Condition",
  package: metaPackage,
  description: "One aspect of the state.",
  fields: {
    type: required(1, string, "The kind of the condition."),
    status: required(2, named(string, "v1.ConditionStatus"), "True, False or Unknown."),
    observedGeneration: omitEmpty(3, int64, "The generation that it is about."),
    lastTransitionTime: required(4, time, "When the status last changed."),
    reason: required(5, string, "The reason as one CamelCase word, for programs."),
    message: required(6, string, "The reason as a sentence, for people."),
  },
});

const policyStatus = struct("v1.ValidatingAdmissionPolicyStatus", "What the server says of the policy.", {
  observedGeneration: omitEmpty(1, int64, "The generation of the spec that is in force."),
  typeChecking: pointer(
    2,
    struct("v1.TypeChecking", "Warnings about types.", {
      expressionWarnings: omitEmpty(
        1,
        atomicList(
          struct("v1.ExpressionWarning", "A warning about an expression.", {
            fieldRef: required(2, string, "The path of the expression."),
            warning: required(3, string, "What is wrong with it."),
          }),
        ),
        "The warnings.",
      ),
    }),
    "Left empty: expressions are not checked against the schemas of the resources.",
  ),
  conditions: omitEmpty(3, replacedByPatch(mapList(condition, "type")), "Aspects of the state. The server sets none."),
});

export const policySchema = struct(
  "v1.ValidatingAdmissionPolicy",
  "Rules in CEL for writes. A policy does nothing until a ValidatingAdmissionPolicyBinding names it.",
  {
    ...objectFields,
    spec: always(2, policySpec, "Which writes are checked, and what must be true of them."),
    status: always(3, policyStatus, "Set by the server."),
  },
);

export type ValidatingAdmissionPolicy = Infer<typeof policySchema>;
export type PolicySpec = Infer<typeof policySpec>;
export type Validation = Infer<typeof validation>;
