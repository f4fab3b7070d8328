import { labelSelector } from "../../../machinery/schema/label-selector-schema.ts";
import { atomicList, embeddedIn, named, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { atomicStruct, omitEmpty, pointer } from "../../../machinery/schema/struct.ts";

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
  scope: pointer(4, named(string, "v1.ScopeType"), "Cluster, Namespaced or *.", { default: "*" }),
};

const namedRule = atomicStruct("v1.NamedRuleWithOperations", "Which operations on which resources are meant.", {
  resourceNames: omitEmpty(1, atomicList(string), "The names of the objects; empty means all."),
  ...embeddedIn(2, {
    operations: omitEmpty(
      1,
      atomicList(named(string, "v1.OperationType")),
      "CREATE, UPDATE, DELETE, CONNECT, or * for all.",
    ),
    ...embeddedIn(2, rule),
  }),
});

/** Which writes are meant (upstream: `MatchResources`). */
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
    named(string, "v1.MatchPolicyType"),
    "Exact: only the versions that the rules name. Equivalent: the same objects under other versions too.",
    { default: "Equivalent" },
  ),
});

export type MatchResources = Infer<typeof matchResources>;
export type NamedRule = Infer<typeof namedRule>;
