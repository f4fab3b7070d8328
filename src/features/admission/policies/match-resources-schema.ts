import { labelSelector, validateLabelSelector } from "../../../machinery/schema/label-selector-schema.ts";
import { atomicList, embeddedIn, named, oneOf, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { atomicStruct, omitEmpty, pointer } from "../../../machinery/schema/struct.ts";
import {
  duplicate,
  forbiddenField,
  invalidValue,
  invalidValues,
  required,
  validateChoice,
} from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { pathSegmentFaults } from "../../../machinery/api/validation/name-validation.ts";

const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const scopes = ["*", "Cluster", "Namespaced"];
const policies = ["Equivalent", "Exact"];

const rule = {
  apiGroups: omitEmpty(
    1,
    atomicList(string),
    "The groups of the resources; `*` means all. Either spelling of a group means both.",
  ),
  apiVersions: omitEmpty(2, atomicList(string), "The versions of the resources; `*` means all."),
  resources: omitEmpty(
    3,
    atomicList(string),
    "The resources, such as `configmaps` or `serviceaccounts/token`. `*` means all resources, `*/*` those and all " +
      "subresources, `serviceaccounts/*` one with all its subresources.",
  ),
  scope: pointer(4, named(oneOf(scopes), "v1.ScopeType"), "Cluster, Namespaced or *.", { default: "*" }),
};

const namedRule = atomicStruct("v1.NamedRuleWithOperations", "Which operations on which resources are meant.", {
  resourceNames: omitEmpty(1, atomicList(string), "The names of the objects; empty means all."),
  ...embeddedIn(2, {
    operations: omitEmpty(
      1,
      atomicList(named(oneOf(operations), "v1.OperationType")),
      "CREATE, UPDATE, DELETE, CONNECT, or * for all.",
    ),
    ...embeddedIn(2, rule),
  }),
});

/** The selection of writes (upstream: `MatchResources`). */
export const matchResources = atomicStruct("v1.MatchResources", "Which writes are meant.", {
  namespaceSelector: pointer(
    1,
    labelSelector,
    "The namespaces of the objects, by their labels. A Namespace is selected by its own. Empty means all; objects without a " +
      "namespace always match.",
    { default: {} },
  ),
  objectSelector: pointer(
    2,
    labelSelector,
    "The objects, by their labels, before or after the write. Empty means all. Who writes an object chooses its labels.",
    { default: {} },
  ),
  resourceRules: omitEmpty(3, atomicList(namedRule), "Writes that are meant: those of any rule."),
  excludeResourceRules: omitEmpty(4, atomicList(namedRule), "Writes that are not meant, whatever resourceRules say."),
  matchPolicy: pointer(
    7,
    named(oneOf(policies), "v1.MatchPolicyType"),
    "Exact: only the versions that the rules name. Equivalent: the same objects under other versions too.",
    { default: "Equivalent" },
  ),
});

export type MatchResources = Infer<typeof matchResources>;
export type NamedRule = Infer<typeof namedRule>;

/** The most rules, because all rules are compared with every write. */
const maximumRules = 1000;

/** Returns every fault of a selection (upstream: `validateMatchResources`). */
export function validateMatchResources(match: MatchResources, field: string): FieldError[] {
  const {
    matchPolicy,
    namespaceSelector = {},
    objectSelector = {},
    resourceRules = [],
    excludeResourceRules = [],
  } = match;
  return [
    ...validateChoice(`${field}.matchPolicy`, { value: matchPolicy, supported: policies }),
    ...validateLabelSelector(namespaceSelector, `${field}.namespaceSelector`),
    ...validateLabelSelector(objectSelector, `${field}.objectSelector`),
    ...validateRules(resourceRules, `${field}.resourceRules`),
    ...validateRules(excludeResourceRules, `${field}.excludeResourceRules`),
  ];
}

const validateRules = (rules: readonly NamedRule[], field: string): FieldError[] =>
  rules.length > maximumRules
    ? [invalidValue(field, { value: rules.length, detail: `must have at most ${maximumRules} items` })]
    : rules.flatMap((rule, index) => validateRule(rule, `${field}[${index}]`));

function validateRule(rule: NamedRule, field: string): FieldError[] {
  const { resourceNames = [], operations: given = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  const names = new Set<string>();
  return [
    ...resourceNames.flatMap((name, index) => {
      const at = `${field}.resourceNames[${index}]`;
      if (names.has(name)) return [duplicate(at, name)];
      names.add(name);
      return invalidValues(at, { value: name, details: pathSegmentFaults(name) });
    }),
    ...validateWords(given, { field: `${field}.operations`, others: "operations" }),
    ...given.flatMap((value, index) =>
      validateChoice(`${field}.operations[${index}]`, { value, supported: operations }),
    ),
    ...validateWords(apiGroups, { field: `${field}.apiGroups`, others: "API groups" }),
    ...validateWords(apiVersions, { field: `${field}.apiVersions`, others: "API versions" }),
    ...apiVersions.flatMap((one, index) => (one === "" ? [required(`${field}.apiVersions[${index}]`, "")] : [])),
    ...validateResources(resources, `${field}.resources`),
    ...validateChoice(`${field}.scope`, { value: scope, supported: scopes }),
  ];
}

function validateWords(
  words: readonly string[],
  { field, others }: { readonly field: string; readonly others: string },
): FieldError[] {
  if (words.length === 0) return [required(field, "")];
  if (words.length === 1 || !words.includes("*")) return [];
  return [invalidValue(field, { value: words, detail: `if '*' is present, must not specify other ${others}` })];
}

/** Returns the faults of a list of resources. A resource that another entry covers must not be listed (upstream: `validateResources`). */
function validateResources(resources: readonly string[], field: string): FieldError[] {
  if (resources.length === 0) return [required(field, "")];
  const covering = new Set<string>();
  const faults = resources.flatMap((resource, index) => {
    const at = `${field}[${index}]`;
    const slash = resource.indexOf("/");
    if (slash === -1) return resource === "" ? [required(at, "")] : [];
    const [main, sub] = [resource.slice(0, slash), resource.slice(slash + 1)];
    const covers = [`${main}/*`, `*/${sub}`].filter((cover) => covering.has(cover));
    if (main === "*" || sub === "*") covering.add(resource);
    return covers.map((cover) =>
      invalidValue(at, { value: resource, detail: `if '${cover}' is present, must not specify ${resource}` }),
    );
  });
  if (resources.length > 1 && resources.includes("*/*")) {
    faults.push(
      invalidValue(field, { value: resources, detail: "if '*/*' is present, must not specify other resources" }),
    );
  }
  // As upstream, which checks only the last of them: `configmaps, *` is allowed.
  const last = resources.findLast((one) => one !== "" && !one.includes("/"));
  if (resources.includes("*") && last !== "*") {
    faults.push(
      invalidValue(field, {
        value: resources,
        detail: "if '*' is present, must not specify other resources without subresources",
      }),
    );
  }
  return faults;
}

/** The fault of params with both a name and a selector. */
export const nameAndSelector = (field: string): FieldError =>
  forbiddenField(field, "name and selector are mutually exclusive");
