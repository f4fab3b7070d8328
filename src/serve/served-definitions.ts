import type { Authorize } from "../api/attributes.ts";
import type { Names } from "../api/names.ts";
import type { Authentication } from "../authentication/index.ts";
import type { RuleResolver } from "../authorization/index.ts";
import type { ServeOptions } from "../cli/serve-flags.ts";
import type { ResourceDefinition, ReviewDefinition } from "../registry/resource-definition.ts";
import { storedResources } from "../resources/index.ts";
import { localSubjectAccessReviews } from "../resources/local-subject-access-reviews.ts";
import { selfSubjectAccessReviews } from "../resources/self-subject-access-reviews.ts";
import { selfSubjectReviews } from "../resources/self-subject-reviews.ts";
import { selfSubjectRulesReviews } from "../resources/self-subject-rules-reviews.ts";
import { subjectAccessReviews } from "../resources/subject-access-reviews.ts";
import { tokenRequest } from "../resources/token-request.ts";
import { tokenReviews } from "../resources/token-reviews.ts";
import type { TokenObjects } from "../tokens/index.ts";
import type { TokenServices } from "./token-services.ts";

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
  readonly authentication: Authentication;
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
