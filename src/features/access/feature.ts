import type { Log } from "../../machinery/logging/log.ts";
import type { AdmissionRule, Authorize } from "../../machinery/api/attributes.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { UserInfo } from "../../machinery/api/user-info.ts";
import type { Credential } from "../../machinery/authentication/credential.ts";
import type { AccessSpelling, SpellObjectName } from "../../machinery/authorization/access-spelling.ts";
import type { Authorizer } from "../../machinery/authorization/authorizer.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import { parseSettingsFile, readCertificates } from "../../machinery/command-line/settings/settings-files.ts";
import type { FollowedFiles } from "../../machinery/files/followed/followed-files.ts";
import { kind } from "../../machinery/registry/definition/kind.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import type { ReviewDefinition } from "../../machinery/registry/definition/review-definition.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { clientCertificate } from "./credentials/client-certificate.ts";
import { frontProxy } from "./credentials/front-proxy.ts";
import { createImpersonation } from "./credentials/impersonation.ts";
import type { Impersonate } from "./credentials/impersonation.ts";
import { parseTokenFile } from "./credentials/static-token-file.ts";
import { DelegatedAuthenticationPublisher } from "./delegated-authentication-publisher.ts";
import { bindingEscalation, roleEscalation } from "./rbac/escalation-rules.ts";
import type { SignerGrants } from "./policy/controller-policy.ts";
import { reconcilePolicy } from "./policy/reconcile-policy.ts";
import { clusterRoleAggregation } from "./rbac/cluster-role-aggregation.ts";
import { clusterRoleBindings, roleBindings } from "./rbac/role-bindings.ts";
import { clusterRoles, roles } from "./rbac/roles.ts";
import { rbacObjects } from "./rbac/rbac-objects.ts";
import { rbac } from "./rbac/rbac-authorizer.ts";
import { RuleResolver } from "./rbac/rule-resolver.ts";
import {
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  subjectAccessReviews,
} from "./reviews/subject-access-reviews.ts";
import { selfSubjectReviews } from "./reviews/self-subject-reviews.ts";
import { selfSubjectRulesReviews } from "./reviews/self-subject-rules-reviews.ts";
import type { RulesReviewOptions } from "./reviews/self-subject-rules-reviews.ts";
import type { AccessSettings } from "./settings.ts";

/** Authentication by client certificate, front proxy and static token; impersonation; RBAC; access reviews. */
export const accessKinds = [kind(clusterRoleBindings), kind(clusterRoles), kind(roleBindings), kind(roles)] as const;

/** RBAC on the cached roles and bindings. Connect it first: other features depend on it. */
export function connectRbac(
  stores: Stores,
  spelling: AccessSpelling | undefined,
): { readonly resolver: RuleResolver; rbac: Authorizer } {
  const resolver = new RuleResolver(rbacObjects(stores), spelling);
  return { resolver, rbac: rbac(resolver) };
}

interface AccessConnection {
  readonly settings: AccessSettings;
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Log;
  readonly followed: FollowedFiles;
  readonly stores: Stores;
  readonly authorize: Authorize;
  readonly resolver: RuleResolver;
  /** Returns the rules that all authorizers together know of a user. */
  readonly rulesFor: RulesReviewOptions["rulesFor"];
  /** Whether an authorizer lets everyone do everything. It may change while the server runs. */
  readonly allowsEverything: () => boolean;
  readonly spellObjectName: SpellObjectName;
  /**
   * CAs for client certificates in addition to the configured ones: the administrator's, and those of the client
   * signers.
   */
  readonly clientAuthorities: () => readonly Certificate[];
  readonly configuredAuthorities: ConfiguredAuthorities;
}

export interface ConnectedAccess {
  readonly reviews: Readonly<
    Record<
      | "selfSubjectReviews"
      | "localSubjectAccessReviews"
      | "selfSubjectAccessReviews"
      | "selfSubjectRulesReviews"
      | "subjectAccessReviews",
      ReviewDefinition
    >
  >;
  readonly admission: Readonly<Record<"roleEscalation" | "bindingEscalation", AdmissionRule>>;
  readonly credentials: Readonly<Record<"frontProxy" | "clientCertificate", Credential>>;
  /** Returns the user of a token in the static token file. */
  readonly findStaticToken: (token: string) => UserInfo | undefined;
  readonly impersonate: Impersonate;
  /** Called for each request without credentials. */
  mayBeAnonymous(): boolean;
  /** Creates missing default roles and bindings, and adds missing rules and subjects to existing ones. */
  prepare(client: ApiClient, signers: readonly SignerGrants[]): Promise<void>;
  /**
   * Publishes the trusted CAs for programs that authenticate in the same way as this server. `hasReplicas`: replicas
   * on the same store.
   */
  delegatedAuthentication(
    client: ApiClient,
    options: { readonly hasReplicas: boolean },
  ): DelegatedAuthenticationPublisher;
}

/** Connects the parts of this feature. Throws UsageError for a file that cannot be used. */
export function connectAccess(connection: AccessConnection): ConnectedAccess {
  const { settings, names, clock, stores, authorize, resolver, spellObjectName } = connection;
  const { configuredAuthorities, clientAuthorities, followed } = connection;
  const roots = (): readonly Certificate[] => [...clientAuthorities(), ...configuredAuthorities.ofClients()];
  return {
    reviews: accessReviews(names, { authorize, rulesFor: connection.rulesFor, spellObjectName }),
    admission: {
      roleEscalation: roleEscalation(names, { authorize, resolver }),
      bindingEscalation: bindingEscalation(names, { authorize, resolver }),
    },
    credentials: {
      frontProxy: frontProxy({ ...settings.frontProxy, roots: configuredAuthorities.ofFrontProxies, clock }),
      clientCertificate: clientCertificate({ names, clock, roots }),
    },
    findStaticToken: openStaticTokens(settings.tokenFile, followed),
    impersonate: createImpersonation({ names, authorize, impersonationOnly: settings.impersonationOnly }),
    mayBeAnonymous: anonymousRule(connection),
    prepare: (client, signers) => reconcilePolicy({ names, stores, client }, signers),
    delegatedAuthentication: (client, { hasReplicas }) =>
      new DelegatedAuthenticationPublisher({
        names,
        stores,
        client,
        clock,
        hasReplicas,
        current: () => ({
          clientAuthorities: roots(),
          frontProxy:
            settings.frontProxy.authorityFile === undefined
              ? undefined
              : { ...settings.frontProxy, authorities: configuredAuthorities.ofFrontProxies() },
        }),
      }),
  };
}

/** The access reviews and SelfSubjectReview. */
export const accessReviews = (
  names: Names,
  { authorize, rulesFor, spellObjectName }: Pick<AccessConnection, "authorize" | "rulesFor" | "spellObjectName">,
): ConnectedAccess["reviews"] => ({
  selfSubjectReviews: selfSubjectReviews(names),
  localSubjectAccessReviews: localSubjectAccessReviews(names, { authorize }),
  selfSubjectAccessReviews: selfSubjectAccessReviews(names, { authorize }),
  selfSubjectRulesReviews: selfSubjectRulesReviews(names, { rulesFor, spellObjectName }),
  subjectAccessReviews: subjectAccessReviews(names, { authorize }),
});

/** The current CAs of the files for client certificates and front proxies. */
export interface ConfiguredAuthorities {
  readonly ofClients: () => readonly Certificate[];
  /** Empty: no front proxy is trusted. */
  readonly ofFrontProxies: () => readonly Certificate[];
}

/** Reads the files at once, and again when they change. Throws UsageError for a file that cannot be used. */
export function openConfiguredAuthorities(settings: AccessSettings, followed: FollowedFiles): ConfiguredAuthorities {
  const open = (flag: string, file: string | undefined): (() => readonly Certificate[]) => {
    if (file === undefined) return () => [];
    return followed.follow({ setting: flag, files: () => [file], load: () => readCertificates(flag, file) });
  };
  return {
    ofClients: open("client-ca-file", settings.clientAuthorityFile),
    ofFrontProxies: open("requestheader-client-ca-file", settings.frontProxy.authorityFile),
  };
}

type FindStaticToken = ReturnType<typeof parseTokenFile>;

function openStaticTokens(file: string | undefined, followed: FollowedFiles): FindStaticToken {
  if (file === undefined) return () => undefined;
  const flag = "token-auth-file";
  const find = followed.follow({
    setting: flag,
    files: () => [file],
    load: () => parseSettingsFile({ flag, file }, parseTokenFile),
  });
  return (token) => find()(token);
}

/**
 * With AlwaysAllow, everyone who reaches the port would be an administrator. So anonymous requests are refused in this mode, as in
 * upstream.
 */
function anonymousRule({ settings, allowsEverything, log }: AccessConnection): () => boolean {
  if (!settings.isAnonymousWanted) return () => false;
  if (allowsEverything()) {
    log.warn(
      {},
      "anonymous requests are refused because the authorizer is AlwaysAllow; to allow them, set --authorization-mode to other authorizers",
    );
  }
  return () => !allowsEverything();
}

export const accessControllers: readonly Controller[] = [clusterRoleAggregation];
