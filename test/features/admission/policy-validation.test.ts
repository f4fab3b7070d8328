import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compilePolicy } from "../../../src/features/admission/evaluation/compile-policy.ts";
import { validatingAdmissionPolicyBindings } from "../../../src/features/admission/policies/validating-admission-policy-bindings.ts";
import { validatingAdmissionPolicies } from "../../../src/features/admission/policies/validating-admission-policies.ts";
import { context, messages, names } from "../resource-scene.ts";

const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
const matchConstraints = { resourceRules: [rule] };
const validations = [{ expression: "true" }];

const policy = (spec: object, name = "policy") => ({
  apiVersion: "v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name },
  spec: { matchConstraints, validations, ...spec },
  status: {},
});
const faultsOf = (spec: object, name?: string): string[] =>
  messages(validatingAdmissionPolicies(names).validate?.(policy(spec, name), context));
const ruleFaults = (changes: object): string[] =>
  faultsOf({ matchConstraints: { resourceRules: [{ ...rule, ...changes }] } }).map((fault) =>
    fault.replace("spec.matchConstraints.resourceRules[0].", ""),
  );
const compileFaults = (spec: object): string[] => messages(compilePolicy(policy(spec).spec).faults);

const bindingFaults = (spec: object): string[] => {
  const binding = {
    apiVersion: "v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: "binding" },
    spec: { policyName: "policy", validationActions: ["Deny"], ...spec },
  };
  return messages(validatingAdmissionPolicyBindings(names).validate?.(binding, context));
};
/** Each fault up to its explanation of what a name is. */
const shortened = (faults: readonly string[]): string[] =>
  faults.map((fault) => fault.replace(/ must consist of .*/, ""));

describe("a binding", () => {
  it("names a policy, at least one action, and no two that tell the same", () => {
    const detail =
      "(repeating the same validation failure information in the API response and headers serves no purpose)";
    for (const [spec, faults] of [
      [{ validationActions: ["Deny", "Audit"] }, []],
      [{ validationActions: ["Warn", "Audit"] }, []],
      [{ policyName: "" }, ["policyName: Required value"]],
      [{ policyName: "a b" }, ['policyName: Invalid value: "a b": a lowercase RFC 1123 subdomain']],
      [{ validationActions: [] }, ["validationActions: Required value: at least one validation action is required"]],
      [{ validationActions: ["Warn", "Warn"] }, ['validationActions[1]: Duplicate value: "Warn"']],
      [
        { validationActions: ["None"] },
        ['validationActions[0]: Unsupported value: "None": supported values: "Audit", "Deny", "Warn"'],
      ],
      [
        { validationActions: ["Deny", "Warn"] },
        [`validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn ${detail}`],
      ],
    ] as const) {
      assert.deepEqual(
        shortened(bindingFaults(spec)),
        faults.map((fault) => `spec.${fault}`),
      );
    }
  });

  it("names its params or selects them, and says what holds when there are none", () => {
    const parameterNotFoundAction = "Deny";
    for (const [paramRef, faults] of [
      [{ name: "a", parameterNotFoundAction }, []],
      [{ selector: {}, parameterNotFoundAction: "Allow" }, []],
      [{ parameterNotFoundAction }, [": Required value: one of name or selector must be specified"]],
      [
        { name: "a", selector: {}, parameterNotFoundAction },
        [
          ".name: Forbidden: name and selector are mutually exclusive",
          ".selector: Forbidden: name and selector are mutually exclusive",
        ],
      ],
      [{ name: "a/b", parameterNotFoundAction }, [`.name: Invalid value: "a/b": may not contain '/'`]],
      [{ name: "a" }, [".parameterNotFoundAction: Required value"]],
      [
        { name: "a", parameterNotFoundAction: "Warn" },
        ['.parameterNotFoundAction: Unsupported value: "Warn": supported values: "Deny", "Allow"'],
      ],
    ] as const) {
      assert.deepEqual(
        bindingFaults({ paramRef }),
        faults.map((fault) => `spec.paramRef${fault}`),
      );
    }
  });
});

describe("a policy", () => {
  it("has expressions and names where upstream requires them", () => {
    const expression = "true";
    const validation = (one: object): object => ({ validations: [{ expression, ...one }] });
    const condition = (...conditions: object[]): object => ({ matchConditions: conditions });
    const nothing = "Required value: validations or auditAnnotations must contain at least one item";
    for (const [spec, faults] of [
      [{ validations: [] }, [`validations: ${nothing}`, `auditAnnotations: ${nothing}`]],
      [validation({ expression: " " }), ["validations[0].expression: Required value: expression is not specified"]],
      [validation({ message: "a\n" }), []],
      [validation({ message: " " }), ['validations[0].message: Invalid value: " ": must be non-empty if specified']],
      [
        validation({ messageExpression: " " }),
        ['validations[0].messageExpression: Invalid value: " ": must be non-empty if specified'],
      ],
      [
        validation({ message: "a\rb" }),
        ['validations[0].message: Invalid value: "a\\rb": must not contain line breaks'],
      ],
      [condition({ name: "a", expression: " " }), ["matchConditions[0].expression: Required value"]],
      [
        condition({ name: "", expression }, { name: "", expression }),
        [0, 1].map((at) => `matchConditions[${at}].name: Required value`),
      ],
      [condition({ name: "a b", expression }), ['matchConditions[0].name: Invalid value: "a b": name part']],
      [
        condition({ name: "a", expression }, { name: "a", expression }),
        ['matchConditions[1].name: Duplicate value: "a"'],
      ],
      [
        { variables: [{ name: " ", expression: "" }] },
        [
          "variables[0].name: Required value: name is not specified",
          "variables[0].expression: Required value: expression is not specified",
        ],
      ],
      [
        { paramKind: { apiVersion: "", kind: "" } },
        ["paramKind.apiVersion: Required value", "paramKind.kind: Required value"],
      ],
      [
        { paramKind: { apiVersion: "a/b/c", kind: "A" } },
        ['paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
      ],
      [
        { paramKind: { apiVersion: "a/", kind: "A" } },
        ['paramKind.apiVersion: Invalid value: "a/": version must be specified'],
      ],
      [{ paramKind: { apiVersion: "/v1", kind: "A" } }, []],
      [
        { paramKind: { apiVersion: "a_/v1", kind: "A" } },
        ['paramKind.apiVersion: Invalid value: "a_": a lowercase RFC 1123 subdomain'],
      ],
    ] as const) {
      assert.deepEqual(
        shortened(faultsOf(spec)),
        faults.map((fault) => `spec.${fault}`),
      );
    }
  });

  it("has at most twenty annotations for the audit log, each of another key and at most 5 KiB", () => {
    const valueExpression = "'a'";
    const annotations = (...list: object[]): string[] =>
      shortened(faultsOf({ auditAnnotations: list.map((one) => ({ key: "a", valueExpression, ...one })) }));
    const keys = (count: number): object[] => Array.from({ length: count }, (_, index) => ({ key: `k${index}` }));
    assert.deepEqual(annotations(...keys(20)), []);
    assert.match(annotations(...keys(21)).join(), /: must not have more than 20 auditAnnotations$/);
    const at = "spec.auditAnnotations[0]";
    assert.deepEqual(annotations({}, {}), ['spec.auditAnnotations[1].key: Duplicate value: "a"']);
    assert.deepEqual(annotations({ key: "a b" }), [`${at}.key: Invalid value: "policy/a b": name part`]);
    assert.deepEqual(faultsOf({ auditAnnotations: [{ key: "a", valueExpression }] }, ""), [
      `${at}.key: Invalid value: "a": requires metadata.name be non-empty`,
    ]);
    assert.deepEqual(annotations({ valueExpression: " " }), [
      `${at}.valueExpression: Required value: valueExpression is not specified`,
    ]);
    for (const [longest, longer] of [
      ["1".repeat(5120), "1".repeat(5121)],
      ["é".repeat(2560), "é".repeat(2561)],
    ] as const) {
      assert.deepEqual(annotations({ valueExpression: longest }), []);
      assert.deepEqual(annotations({ valueExpression: longer }), [
        `${at}.valueExpression: Required value: must not exceed 5120 bytes in length`,
      ]);
    }
  });

  it("has rules that say what they are about, with nothing behind what stands for all", () => {
    for (const [changes, faults] of [
      [
        { operations: [], apiGroups: [], apiVersions: [], resources: [] },
        ["operations", "apiGroups", "apiVersions", "resources"].map((field) => `${field}: Required value`),
      ],
      [{ apiVersions: [""], resources: [""] }, ["apiVersions[0]: Required value", "resources[0]: Required value"]],
      [
        { operations: ["*", "CREATE"] },
        [`operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`],
      ],
      [
        { resources: ["*/*", "pods"] },
        [`resources: Invalid value: ["*/*","pods"]: if '*/*' is present, must not specify other resources`],
      ],
      [{ resources: ["*/*"] }, []],
      [
        { resourceNames: ["a", "a", "b/c"] },
        ['resourceNames[1]: Duplicate value: "a"', `resourceNames[2]: Invalid value: "b/c": may not contain '/'`],
      ],
      [{ scope: "All" }, ['scope: Unsupported value: "All": supported values: "*", "Cluster", "Namespaced"']],
    ] as const) {
      assert.deepEqual(ruleFaults(changes), faults);
    }
    const rules = (count: number): object => ({ resourceRules: Array.from({ length: count }, () => rule) });
    assert.deepEqual(faultsOf({ matchConstraints: rules(1000) }), []);
    assert.deepEqual(faultsOf({ matchConstraints: rules(1001) }), [
      "spec.matchConstraints.resourceRules: Invalid value: 1001: must have at most 1000 items",
    ]);
  });

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
