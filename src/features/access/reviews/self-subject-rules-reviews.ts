import { accessSpelling } from "../../../machinery/authorization/own-spelling.ts";
import type { SpellObjectName } from "../../../machinery/authorization/own-spelling.ts";
import { respelledRules } from "../rbac/rule-resolver.ts";
import { badRequest } from "../../../machinery/api/api-error.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { PolicyRule } from "../rbac/policy-rule.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { defineReview } from "../../../machinery/registry/resource-definition.ts";
import type { ReviewDefinition } from "../../../machinery/registry/resource-definition.ts";
import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { atomicList, boolean, object, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";

const verbs = {
  number: 1,
  schema: atomicList(string),
  presence: "always",
  isRequired: true,
  description: "The verbs; `*` means all.",
} as const;

const resourceRule = object({
  goType: "v1.ResourceRule",
  description: "Verbs on resources. The order of the rules has no meaning.",
  fields: {
    verbs,
    apiGroups: { number: 2, schema: atomicList(string), description: "The groups of the resources; `*` means all." },
    resources: { number: 3, schema: atomicList(string), description: "The resources; `*` means all." },
    resourceNames: { number: 4, schema: atomicList(string), description: "The names; empty means all." },
  },
});

const nonResourceRule = object({
  goType: "v1.NonResourceRule",
  description: "Verbs on non-resource URLs.",
  fields: {
    verbs,
    nonResourceURLs: {
      number: 2,
      schema: atomicList(string),
      description: "The paths; a `*` at the end matches any rest.",
    },
  },
});

const selfSubjectRulesReviewSchema = object({
  goType: "v1.SelfSubjectRulesReview",
  description: "Lists what the caller may do in a namespace. For user interfaces, not for authorization decisions.",
  fields: {
    ...objectFields,
    spec: {
      number: 2,
      presence: "always",
      isRequired: true,
      description: "Where.",
      schema: object({
        goType: "v1.SelfSubjectRulesReviewSpec",
        description: "Where.",
        fields: { namespace: { number: 1, schema: string, description: "The namespace. Required." } },
      }),
    },
    status: {
      number: 3,
      presence: "always",
      description: "The result. Set by the server.",
      schema: object({
        goType: "v1.SubjectRulesReviewStatus",
        description: "What the caller may do.",
        fields: {
          resourceRules: {
            number: 1,
            schema: atomicList(resourceRule),
            presence: "always",
            isRequired: true,
            description: "What is allowed on resources.",
          },
          nonResourceRules: {
            number: 2,
            schema: atomicList(nonResourceRule),
            presence: "always",
            isRequired: true,
            description: "What is allowed on paths.",
          },
          incomplete: {
            number: 3,
            schema: boolean,
            presence: "always",
            isRequired: true,
            description: "Whether the lists may be incomplete, because an authorizer cannot list its rules.",
          },
          evaluationError: { number: 4, schema: string, description: "Errors during the evaluation." },
        },
      }),
    },
  },
});

export type SelfSubjectRulesReview = Infer<typeof selfSubjectRulesReviewSchema>;

export interface RulesReviewOptions {
  readonly spellObjectName: SpellObjectName;
  /** A user's rules in a namespace, including cluster-wide ones. */
  rulesFor(
    user: UserInfo,
    namespace: string,
  ): { readonly rules: readonly PolicyRule[]; readonly errors: readonly string[] };
}

export const selfSubjectRulesReviews = (
  names: Names,
  { rulesFor, spellObjectName }: RulesReviewOptions,
): ReviewDefinition<SelfSubjectRulesReview> =>
  defineReview({
    group: names.group("authorization"),
    version: "v1",
    kind: "SelfSubjectRulesReview",
    plural: "selfsubjectrulesreviews",
    singular: "selfsubjectrulesreview",
    scope: "Cluster",
    schema: selfSubjectRulesReviewSchema,
    create: async ({ apiVersion, kind, spec }, { user, askedGroup }) => {
      const namespace = spec.namespace ?? "";
      if (namespace === "") throw badRequest("no namespace on request");
      const { rules: ownRules, errors } = rulesFor(user, namespace);
      const rules = respelledRules(ownRules, accessSpelling(names.spellingOf(askedGroup), spellObjectName));
      const status: SelfSubjectRulesReview["status"] = {
        resourceRules: rules.filter(({ resources }) => (resources ?? []).length > 0).map(shownResourceRule),
        nonResourceRules: rules.flatMap(({ verbs: allowed, nonResourceURLs = [] }) =>
          nonResourceURLs.length === 0 ? [] : [{ verbs: allowed, nonResourceURLs }],
        ),
        incomplete: errors.length > 0,
        ...(errors.length > 0 && { evaluationError: errors.join(", ") }),
      };
      // Like upstream, return a new object: it contains neither the metadata nor the spec of the request.
      return { object: { apiVersion, kind, metadata: {}, spec: {}, status } };
    },
  });

const shownResourceRule = ({ verbs: allowed, apiGroups, resources, resourceNames }: PolicyRule) => ({
  verbs: allowed,
  ...(apiGroups !== undefined && { apiGroups }),
  ...(resources !== undefined && { resources }),
  ...(resourceNames !== undefined && { resourceNames }),
});
