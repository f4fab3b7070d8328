import type { Authorize } from "../machinery/api/attributes.ts";
import type { Names } from "../machinery/api/names.ts";
import type { Authentication } from "./authentication.ts";
import type { RuleResolver } from "../features/access/rbac/rule-resolver.ts";
import type { ServeOptions } from "./serve-flags.ts";
import type { ResourceDefinition, ReviewDefinition } from "../machinery/registry/resource-definition.ts";
import { storedResources } from "./stored-resources.ts";
import { localSubjectAccessReviews } from "../features/access/reviews/local-subject-access-reviews.ts";
import { selfSubjectAccessReviews } from "../features/access/reviews/self-subject-access-reviews.ts";
import { selfSubjectReviews } from "../features/access/reviews/self-subject-reviews.ts";
import { selfSubjectRulesReviews } from "../features/access/reviews/self-subject-rules-reviews.ts";
import { subjectAccessReviews } from "../features/access/reviews/subject-access-reviews.ts";
import { tokenRequest } from "../features/accounts/token-request.ts";
import { tokenReviews } from "../features/accounts/token-reviews.ts";
import type { TokenObjects } from "../features/accounts/tokens/tokens.ts";
import type { TokenServices } from "../features/accounts/token-services.ts";

export interface IssuingServices {
  readonly options: ServeOptions;
  readonly tokens: TokenServices;
  readonly objects: TokenObjects;
}

/** What is stored; accounts have the subresource that issues their tokens. */
export function storedDefinitions(names: Names, { options, tokens, objects }: IssuingServices): ResourceDefinition[] {
  const maximumMilliseconds = options["service-account-max-token-expiration"];
  const token = tokenRequest(names, {
    ...objects,
    apiAudiences: tokens.apiAudiences,
    issueToken: tokens.issueToken,
    isExpirationExtended: options["service-account-extend-token-expiration"],
    ...(maximumMilliseconds !== undefined && { maxTokenExpirationSeconds: Math.floor(maximumMilliseconds / 1000) }),
  });
  return storedResources(names).map((definition) =>
    definition.plural === "serviceaccounts"
      ? { ...definition, subresources: { ...definition.subresources, token } }
      : definition,
  );
}

export interface ReviewServices {
  readonly authentication: Pick<Authentication, "reviewToken">;
  readonly authorize: Authorize;
  readonly resolver: RuleResolver;
}

/** What is answered and never stored. */
export function reviewDefinitions(
  names: Names,
  { authentication, authorize, resolver }: ReviewServices,
): ReviewDefinition[] {
  return [
    selfSubjectReviews(names),
    tokenReviews(names, authentication),
    localSubjectAccessReviews(names, { authorize }),
    selfSubjectAccessReviews(names, { authorize }),
    selfSubjectRulesReviews(names, { rulesFor: (user, namespace) => resolver.rulesFor(user, namespace) }),
    subjectAccessReviews(names, { authorize }),
  ];
}
