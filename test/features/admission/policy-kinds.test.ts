import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { validatingAdmissionPolicies } from "../../../src/features/admission/policies/validating-admission-policies.ts";
import { validatingAdmissionPolicyBindings } from "../../../src/features/admission/policies/validating-admission-policy-bindings.ts";
import { policySchema } from "../../../src/features/admission/policies/policy-schema.ts";
import type { ValidatingAdmissionPolicy as Policy } from "../../../src/features/admission/policies/policy-schema.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { compileDecoder } from "../../../src/machinery/schema/compile-decoder.ts";
import { cells, context, faultsOfNew, messages, nowText } from "../resource-scene.ts";

const policies = validatingAdmissionPolicies(platformNames);
const bindings = validatingAdmissionPolicyBindings(platformNames);

const decode = compileDecoder(policySchema);
const policy = (paramKind: { apiVersion: string; kind: string }) => ({
  apiVersion: "admissionregistration.platform.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name: "p" },
  spec: {
    paramKind,
    matchConstraints: {
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["secrets"] }],
    },
    validations: [{ expression: "true" }],
  },
  status: {},
});

const binding = (paramRef?: object) => ({
  apiVersion: "admissionregistration.platform.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name: "b" },
  spec: { policyName: "p", validationActions: ["Deny"], ...(paramRef !== undefined && { paramRef }) },
});

describe("a policy and its binding", () => {
  it("are updated only by who says which version they have read", () => {
    assert.deepEqual(
      [policies, bindings].map((one) => one.allowsUnconditionalUpdate),
      [false, false],
    );
  });
});

describe("a policy", () => {
  it("names the kind of its params by a version and a kind that there could be", () => {
    const faults = (apiVersion: string, kind = "ConfigMap") => faultsOfNew(policies, policy({ apiVersion, kind }));
    assert.deepEqual(faults("v1"), []);
    assert.deepEqual(faults("example.com/v1beta1"), []);
    const label = "a DNS-1035 label must consist of lower case alphanumeric characters or '-'";
    for (const [apiVersion, value] of [
      ["v_1", "v_1"],
      ["example.com/V1", "V1"],
    ] as const) {
      const [fault = "", ...more] = faults(apiVersion);
      assert.ok(fault.startsWith(`spec.paramKind.apiVersion: Invalid value: "${value}": ${label}`), fault);
      assert.deepEqual(more, []);
    }
    const [fault = ""] = faults("v1", "Config_Map");
    assert.ok(fault.includes(`may have mixed case, but should otherwise match: ${label}`), fault);
  });
});

describe("the generation of a policy", () => {
  it("grows with each change of the spec alone", () => {
    const previous = { ...policy({ apiVersion: "v1", kind: "ConfigMap" }), metadata: { name: "p", generation: 3 } };
    const generations = (next: Policy): unknown[] => {
      const { metadata, status } = policies.prepareForUpdate?.(next, { ...context, previous }) ?? next;
      return [metadata.generation, status.observedGeneration];
    };
    assert.deepEqual(generations({ ...previous, metadata: { name: "p", labels: { a: "1" } } }), [3, 3]);
    assert.deepEqual(generations({ ...previous, spec: policy({ apiVersion: "v1", kind: "Secret" }).spec }), [4, 4]);
  });
});

describe("the status of a policy", () => {
  it("is written alone: a spec, labels, finalizers and owners that are sent with it do not count", () => {
    const made = policy({ apiVersion: "v1", kind: "ConfigMap" });
    const previous = { ...made, metadata: { name: "p", labels: { a: "1" } } };
    const sent = { name: "p", uid: "u", labels: { a: "2" }, finalizers: ["example.com/f"], annotations: { b: "2" } };
    const { status } = policies.subresources ?? {};
    assert.ok(status?.type === "update");
    const { spec } = policy({ apiVersion: "v1", kind: "Secret" });
    const next = { ...made, spec, metadata: sent, status: { observedGeneration: 7 } };
    assert.deepEqual(status.prepareForUpdate(next, { ...context, previous }), {
      ...previous,
      metadata: { name: "p", uid: "u", labels: { a: "1" } },
      status: { observedGeneration: 7 },
    });
  });

  it("has conditions that programs can read, unless they are stored already", () => {
    const { status } = policies.subresources ?? {};
    assert.ok(status?.type === "update");
    const previous = policy({ apiVersion: "v1", kind: "ConfigMap" });
    const condition = { type: "A", status: "True", reason: "R", message: "", lastTransitionTime: nowText };
    const changed = (...conditions: object[]): Policy =>
      decode({ ...previous, status: { conditions: conditions.map((one) => ({ ...condition, ...one })) } }).value;
    const faults = (next: Policy, stored: Policy = previous): string[] =>
      messages(status.validateUpdate?.(next, { ...context, previous: stored }));
    assert.deepEqual(faults(changed(condition)), []);
    const wrong = changed(condition, { ...condition, status: "Yes", reason: "" }, { lastTransitionTime: null });
    assert.deepEqual(faults(wrong), [
      'status.conditions[1].type: Duplicate value: "A"',
      'status.conditions[1].status: Unsupported value: "Yes": supported values: "False", "True", "Unknown"',
      "status.conditions[1].reason: Required value",
      'status.conditions[2].type: Duplicate value: "A"',
      "status.conditions[2].lastTransitionTime: Required value",
    ]);
    assert.deepEqual(faults(wrong, wrong), []);
    const [fault = ""] = faults(changed({ ...condition, reason: "1x" }));
    assert.match(fault, /^status\.conditions\[0\]\.reason: Invalid value: "1x": a condition reason must start with/);
    const long = changed({ ...condition, reason: "R".repeat(1025), message: "m".repeat(32_769) });
    assert.deepEqual(faults(long), [
      "status.conditions[0].reason: Too long: may not be more than 1024 bytes",
      "status.conditions[0].message: Too long: may not be more than 32768 bytes",
    ]);
    const typeChecking = { expressionWarnings: [{ fieldRef: " ", warning: "" }] };
    assert.deepEqual(faults({ ...previous, status: { typeChecking } }), [
      "status.typeChecking.expressionWarnings[0].warning: Required value",
      "status.typeChecking.expressionWarnings[0].fieldRef: Required value",
    ]);
  });
});

describe("a binding", () => {
  it("has to say what it means that there are no params", () => {
    assert.deepEqual(faultsOfNew(bindings, binding({ name: "limits", parameterNotFoundAction: "Allow" })), []);
    assert.deepEqual(faultsOfNew(bindings, binding({ name: "limits" })), [
      "spec.paramRef.parameterNotFoundAction: Required value",
    ]);
  });

  it("tells each fault of the selector of its params once", () => {
    const selector = { matchExpressions: [{ key: "a", operator: "In" }] };
    assert.deepEqual(faultsOfNew(bindings, binding({ selector, parameterNotFoundAction: "Allow" })), [
      "spec.paramRef.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ]);
  });

  it("has the field of a fault in what it matches named as the field is", () => {
    const { spec, ...others } = binding();
    const matchResources = { matchPolicy: "Never" };
    assert.deepEqual(faultsOfNew(bindings, { ...others, spec: { ...spec, matchResources } }), [
      'spec.matchResources.matchPolicy: Unsupported value: "Never": supported values: "Equivalent", "Exact"',
    ]);
  });

  it("shows a star for the namespace that its params may be of, and how they are selected", () => {
    const shown = (paramRef?: object) => cells(bindings, binding(paramRef))[1];
    assert.equal(shown(), "<unset>");
    assert.equal(shown({ name: "limits" }), "*/limits");
    const everything = "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}";
    assert.equal(shown({ namespace: "default", selector: {} }), everything);
  });
});
