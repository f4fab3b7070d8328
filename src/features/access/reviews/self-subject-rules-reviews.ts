import { joinedErrors } from "../../../machinery/authorization/authorizer.ts";
import { accessSpelling } from "../../../machinery/authorization/access-spelling.ts";
import type { SpellObjectName } from "../../../machinery/authorization/access-spelling.ts";
import { respelledRules } from "../rbac/rule-resolver.ts";
import type { ResolvedRules } from "../rbac/rule-resolver.ts";
import { badRequest } from "../../../machinery/api/api-error.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { PolicyRule } from "../rbac/policy-rule.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { defineReview } from "../../../machinery/registry/definition/review-definition.ts";
import type { ReviewDefinition } from "../../../machinery/registry/definition/review-definition.ts";
import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { atomicList, boolean, object, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { always, omitEmpty, required, struct } from "../../../machinery/schema/struct.ts";

const verbs = required(1, atomicList(string), "The verbs; `*` means all.");

const resourceRule = struct("v1.ResourceRule", "Verbs on resources. The order of the rules has no meaning.", {
  verbs,
  apiGroups: omitEmpty(2, atomicList(string), "The groups of the resources; `*` means all."),
  resources: omitEmpty(3, atomicList(string), "The resources; `*` means all."),
  resourceNames: omitEmpty(4, atomicList(string), "The names; empty means all."),
});

const nonResourceRule = struct("v1.NonResourceRule", "Verbs on non-resource URLs.", {
  verbs,
  nonResourceURLs: omitEmpty(2, atomicList(string), "The paths; a `*` at the end matches any rest."),
});

const selfSubjectRulesReviewSchema = struct(
  "v1.SelfSubjectRulesReview",
  "Lists what the caller may do in a namespace. For user interfaces, not for authorization decisions.",
  {
    ...objectFields,
    spec: required(
      2,
      object({
        goType: "v1.SelfSubjectRulesReviewSpec",
        description: "Where.",
        fields: { namespace: omitEmpty(1, string, "The namespace. Required.") },
      }),
      "Where.",
    ),
    status: always(
      3,
      object({
        goType: "v1.SubjectRulesReviewStatus",
        description: "What the caller may do.",
        fields: {
          resourceRules: required(1, atomicList(resourceRule), "What is allowed on resources."),
          nonResourceRules: required(2, atomicList(nonResourceRule), "What is allowed on paths."),
          incomplete: required(
            3,
            boolean,
            "Whether the lists may be incomplete, because an authorizer cannot list its rules.",
          ),
          evaluationError: omitEmpty(4, string, "Errors during the evaluation."),
        },
      }),
      "The result. Set by the server.",
    ),
  },
);

export type SelfSubjectRulesReview = Infer<typeof selfSubjectRulesReviewSchema>;

export interface RulesReviewOptions {
  readonly spellObjectName: SpellObjectName;
  /**
   * The rules of a user in a namespace that authorizers know, including cluster-wide rules. Incomplete when an authorizer cannot list its
   * rules. A binding to a role that does not exist adds an error, but no rules.
   */
  rulesFor(user: UserInfo, namespace: string): Promise<ResolvedRules>;
}

export const selfSubjectRulesReviews = (
  names: Names,
  { rulesFor, spellObjectName }: RulesReviewOptions,
): ReviewDefinition<SelfSubjectRulesReview> =>
  defineReview({
    group: names.group("authorization"),
    version: "v1",
    kind: "SelfSubjectRulesReview",
    scope: "Cluster",
    schema: selfSubjectRulesReviewSchema,
    create: async ({ apiVersion, kind, spec }, { user, requestedGroup }) => {
      const namespace = spec.namespace ?? "";
      if (namespace === "") throw badRequest("no namespace on request");
      const { rules: ownRules, isIncomplete, errors } = await rulesFor(user, namespace);
      const rules = respelledRules(ownRules, accessSpelling(names.spellingOf(requestedGroup), spellObjectName));
      const status: SelfSubjectRulesReview["status"] = {
        resourceRules: rules.filter(({ resources }) => (resources ?? []).length > 0).map(shownResourceRule),
        nonResourceRules: rules.flatMap(({ verbs: allowed, nonResourceURLs = [] }) =>
          nonResourceURLs.length === 0 ? [] : [{ verbs: allowed, nonResourceURLs }],
        ),
        incomplete: isIncomplete,
        ...(errors.length > 0 && { evaluationError: joinedErrors(errors) }),
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
