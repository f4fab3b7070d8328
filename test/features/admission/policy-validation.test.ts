import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compilePolicy } from "../../../src/features/admission/evaluation/compile-policy.ts";
import { validatingAdmissionPolicies } from "../../../src/features/admission/policies/validating-admission-policies.ts";
import { context, messages, names } from "../resource-scene.ts";

const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
const matchConstraints = { resourceRules: [rule] };
const validations = [{ expression: "true" }];

const policy = (spec: object) => ({
  apiVersion: "v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name: "policy" },
  spec: { matchConstraints, validations, ...spec },
  status: {},
});
const faultsOf = (spec: object): string[] =>
  messages(validatingAdmissionPolicies(names).validate?.(policy(spec), context));
const ruleFaults = (changes: object): string[] =>
  faultsOf({ matchConstraints: { resourceRules: [{ ...rule, ...changes }] } }).map((fault) =>
    fault.replace("spec.matchConstraints.resourceRules[0].", ""),
  );
const compileFaults = (spec: object): string[] => messages(compilePolicy(policy(spec).spec).faults);

describe("a policy", () => {
  it("names what upstream supports, in its order", () => {
    assert.deepEqual(faultsOf({}), []);
    assert.deepEqual(ruleFaults({ operations: ["PATCH"] }), [
      'operations[0]: Unsupported value: "PATCH": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
    ]);
    assert.deepEqual(faultsOf({ validations: [{ expression: "true", reason: "Unauthorized" }] }), [
      'spec.validations[0].reason: Unsupported value: "Unauthorized": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ]);
  });

  it("has at most 256 expressions of all kinds together", () => {
    const many = (count: number): object[] => Array.from({ length: count }, () => ({ expression: "true" }));
    const named = (count: number): object[] => many(count).map((one, index) => ({ ...one, name: `n${index}` }));
    const annotation = { key: "a", valueExpression: "'b'" };
    const others = { auditAnnotations: [annotation], matchConditions: named(1), variables: named(1) };
    assert.deepEqual(faultsOf({ ...others, validations: many(253) }), []);
    assert.deepEqual(faultsOf({ ...others, validations: many(254) }), [
      "spec: Invalid value: 257: must have at most 256 expressions",
    ]);
  });

  it("needs rules for resources", () => {
    assert.deepEqual(faultsOf({ matchConstraints: {} }), ["spec.matchConstraints.resourceRules: Required value"]);
    assert.deepEqual(faultsOf({ matchConstraints: undefined }), ["spec.matchConstraints: Required value"]);
  });

  it("names no resource behind all of them", () => {
    const detail = "if '*' is present, must not specify other resources without subresources";
    assert.deepEqual(ruleFaults({ resources: ["*", "pods"] }), [`resources: Invalid value: ["*","pods"]: ${detail}`]);
    for (const resources of [["pods", "*"], ["*", "pods/status"], ["*"]])
      assert.deepEqual(ruleFaults({ resources }), []);
  });

  it("has only patterns that can be compiled in half a second together", () => {
    const pattern = (index: number): string => `'a'.matches('${index}${".{1000}".repeat(9)}')`;
    const faults = (...expressions: string[]): string[] =>
      compileFaults({ validations: expressions.map((expression) => ({ expression })) });
    assert.deepEqual(faults(`${pattern(1)} || ${pattern(2)}`), []);
    assert.match(String(faults(`${pattern(1)} || ${pattern(2)} || ${pattern(3)}`)), /too large together$/);
    const [fault = "", ...more] = faults(...Array.from({ length: 12 }, (_, index) => pattern(index)), "true");
    assert.match(fault, /^spec\.validations\[12\]\.expression: .*the regular expressions of the policy are too large$/);
    assert.deepEqual(more, []);
  });

  it("reads only fields of the request that there are", () => {
    for (const expression of [
      "!has(request.options.propagationPolicy) || request.options.propagationPolicy != 'Orphan'",
      "request.?options.propagationPolicy.orValue('') != 'Orphan'",
      "request[?'options'].propagationPolicy.orValue('') != 'Orphan'",
      "optional.of(request).options.propagationPolicy.orValue('') != 'Orphan'",
    ]) {
      assert.match(
        String(compileFaults({ validations: [{ expression }] })),
        /compilation failed: .*options/,
        expression,
      );
    }
    assert.deepEqual(compileFaults({ validations: [{ expression: "request.?userInfo.uid.orValue('') != ''" }] }), []);
  });

  it("has expressions of at most 256 KiB together", () => {
    const faults = (count: number): string[] => {
      const expression = `true ${" ".repeat(16_379)}`;
      return compileFaults({ validations: Array.from({ length: count }, () => ({ expression })) });
    };
    assert.deepEqual(faults(16), []);
    const [fault = "", ...more] = faults(17);
    assert.match(fault, /^spec\.validations\[16\]\.expression: .*longer than 256 KiB together$/);
    assert.deepEqual(more, []);
  });

  it("covers no resource by two entries, but may name one twice", () => {
    const faults = (...resources: string[]): string[] => ruleFaults({ resources });
    assert.deepEqual(faults("pods", "pods", "a/b", "a/b"), []);
    assert.deepEqual(faults("pods/*", "pods/status"), [
      `resources[1]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status`,
    ]);
    assert.deepEqual(faults("*/status", "pods/status", "pods/*"), [
      `resources[1]: Invalid value: "pods/status": if '*/status' is present, must not specify pods/status`,
    ]);
    assert.deepEqual(ruleFaults({ apiGroups: ["*", "a"], apiVersions: ["*", "v1"] }), [
      `apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other API groups`,
      `apiVersions: Invalid value: ["*","v1"]: if '*' is present, must not specify other API versions`,
    ]);
  });

  it("has variables that CEL can name, and a kind of params that can exist", () => {
    const variables = (name: string): string[] => faultsOf({ variables: [{ name, expression: "1" }] });
    assert.deepEqual(variables("self"), []);
    for (const name of ["a-b", "1a", "in", "for", "true"])
      assert.deepEqual(variables(name), [
        `spec.variables[0].name: Invalid value: "${name}": must be a valid CEL identifier`,
      ]);
    const params = (apiVersion: string, kind: string): string[] => faultsOf({ paramKind: { apiVersion, kind } });
    assert.deepEqual(params("example.com/v1", "Limit"), []);
    assert.match(params("example.com/V1", "Limit").join(), /apiVersion: Invalid value: "V1": a DNS-1035 label must/);
    assert.match(
      params("v1", "a_b").join(),
      /kind: Invalid value: "a_b": may have mixed case.*: a DNS-1035 label must/,
    );
    assert.match(params("v1", "A".repeat(64)).join(), /otherwise match: must be no more than 63 characters$/);
  });

  it("counts its conditions, and tells of them all", () => {
    const matchConditions = Array.from({ length: 65 }, (_, index) => ({ name: `n${index}`, expression: "true" }));
    assert.deepEqual(faultsOf({ matchConditions }), ["spec.matchConditions: Too many: 65: must have at most 64 items"]);
  });

  it("compares what its object has, as nothing else is known to be a bool or a text", () => {
    const field = "spec.validations[0]";
    for (const expression of ["object.a", "true ? object.a : true", "params.a", "dyn(true)"])
      assert.deepEqual(compileFaults({ paramKind: {}, validations: [{ expression }] }), [
        `${field}.expression: Invalid value: ${JSON.stringify(expression)}: must evaluate to bool but got dyn`,
      ]);
    for (const expression of [
      "!object.a",
      "object.a == 1",
      "object.l.all(x, x)",
      "object.?a.hasValue()",
      "'a' in object.b",
    ])
      assert.deepEqual(compileFaults({ validations: [{ expression }] }), []);
    assert.deepEqual(compileFaults({ validations: [{ expression: "true", messageExpression: "object.a" }] }), [
      `${field}.messageExpression: Invalid value: "object.a": must evaluate to string but got dyn`,
    ]);
    const valueExpression = "namespaceObject.metadata.name";
    assert.deepEqual(compileFaults({ auditAnnotations: [{ key: "a", valueExpression }] }), []);
    const lists = [{ name: "lists", expression: "[[true]]" }];
    assert.deepEqual(compileFaults({ variables: lists, validations: [{ expression: "variables.lists[0][0]" }] }), []);
    const home = [{ name: "home", expression: valueExpression }];
    const validations = [{ expression: "object[?'a'].orValue(true)", messageExpression: "variables.home" }];
    assert.deepEqual(compileFaults({ variables: home, validations }), []);
    assert.deepEqual(compileFaults({ auditAnnotations: [{ key: "a", valueExpression: "1" }] }), [
      'spec.auditAnnotations[0].valueExpression: Invalid value: "1": must evaluate to one of [string null_type] but got int',
    ]);
  });
});
