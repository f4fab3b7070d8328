import type { AdmissionRule } from "../../machinery/api/attributes.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { ReviewToken } from "../../machinery/authentication/token-authentication.ts";
import { kind } from "../../machinery/feature.ts";
import type { Feature } from "../../machinery/feature.ts";
import type { PathRoutes } from "../../machinery/http/path-routes.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { generateName } from "../../machinery/registry/generate-name.ts";
import type { ReviewDefinition } from "../../machinery/registry/resource-definition.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import { podReferences } from "../nodes/index.ts";
import { defaultServiceAccount } from "./default-service-account.ts";
import { openIdRoutes } from "./openid-routes.ts";
import { serviceAccountResource } from "./resources.ts";
import { rootCaPublisher } from "./root-ca-publisher.ts";
import { serviceAccountRule } from "./service-account-admission.ts";
import { serviceAccountTokenSecrets } from "./service-account-token-secrets.ts";
import { serviceAccounts } from "./service-accounts.ts";
import { accountFlags } from "./settings.ts";
import type { AccountSettings } from "./settings.ts";
import { tokenObjects } from "./stored-token-objects.ts";
import { answerTokenRequest } from "./token-request.ts";
import { tokenReviews } from "./token-reviews.ts";
import { openTokenServices } from "./token-services.ts";
import type { TokenServices } from "./token-services.ts";

/** Service accounts and their tokens: issued, bound, verified, reviewed, and published to relying parties. */
export const accountsFeature = {
  name: "accounts",
  kinds: [kind(serviceAccounts)],
  flags: accountFlags,
} as const satisfies Feature;

export interface AccountsConnection {
  readonly settings: AccountSettings;
  readonly names: Names;
  readonly clock: Clock;
  readonly stores: Stores;
}

export interface ConnectedAccounts {
  readonly admission: Readonly<Record<"serviceAccount", AdmissionRule>>;
  readonly tokens: TokenServices;
  tokenReviews(reviewToken: ReviewToken): ReviewDefinition;
  /** The issuer's documents. `url` is called for each request. */
  pathRoutes(url: () => string): PathRoutes;
}

/** Throws UsageError for a key file that cannot be used. */
export function connectAccounts({ settings, names, clock, stores }: AccountsConnection): ConnectedAccounts {
  const objects = tokenObjects(stores);
  const tokens = openTokenServices({ settings, names, clock, objects });
  const { maximumTokenExpirationSeconds } = settings;
  stores.of(serviceAccountResource).answerSubresource(
    "token",
    answerTokenRequest({
      ...objects,
      apiAudiences: tokens.apiAudiences,
      issueToken: tokens.issueToken,
      isExpirationExtended: settings.isTokenExpirationExtended,
      ...(maximumTokenExpirationSeconds !== undefined && { maxTokenExpirationSeconds: maximumTokenExpirationSeconds }),
    }),
  );
  return {
    admission: {
      serviceAccount: serviceAccountRule({
        names,
        podReferences,
        generateName,
        findServiceAccount: (namespace, name) => stores.findCurrent(serviceAccountResource, { namespace, name }),
      }),
    },
    tokens,
    tokenReviews: (reviewToken) => tokenReviews(names, { reviewToken }),
    pathRoutes: (url) => openIdRoutes(() => tokens.discovery(settings.keysUrl ?? `${url()}/openid/v1/jwks`)),
  };
}

export interface AccountControllersOptions {
  /** PEM of the CAs that verify the server. Empty when the system's roots do: then nothing is published. */
  readonly caCertificates: string;
  /** Absent when this process has no token signing key: then it does not fill token Secrets. */
  readonly issueSecretToken?: TokenServices["issueSecretToken"];
}

export function accountControllers({ caCertificates, issueSecretToken }: AccountControllersOptions): Controller[] {
  return [
    defaultServiceAccount,
    ...(caCertificates === "" ? [] : [rootCaPublisher({ caCertificates })]),
    ...(issueSecretToken === undefined ? [] : [tokenSecrets(caCertificates, issueSecretToken)]),
  ];
}

const tokenSecrets = (caCertificates: string, issueSecretToken: TokenServices["issueSecretToken"]): Controller =>
  serviceAccountTokenSecrets({
    caCertificates,
    issueToken: (account, secret) =>
      issueSecretToken({
        namespace: account.metadata.namespace ?? "",
        secretName: secret.metadata.name ?? "",
        serviceAccountName: account.metadata.name ?? "",
        serviceAccountUid: account.metadata.uid ?? "",
      }),
  });
