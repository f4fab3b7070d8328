import type { Names } from "../machinery/api/names.ts";
import { aggregateRules } from "../features/access/rbac/aggregate-rules.ts";
import type { ControllerOptions } from "./controller-flags.ts";
import type { ResourceType } from "../machinery/api/resource-type.ts";
import { clusterRoleAggregation } from "../features/access/rbac/cluster-role-aggregation.ts";
import type { Controller } from "../machinery/loops/controller.ts";
import { bootstrapTokenCleaner } from "../features/nodes/bootstrap/bootstrap-token-cleaner.ts";
import { defaultServiceAccount } from "../features/accounts/default-service-account.ts";
import { eventCleaner } from "../features/core/event-cleaner.ts";
import { garbageCollector } from "../features/core/garbage-collector.ts";
import { namespaceTermination } from "../features/core/namespace-termination.ts";
import { rootCaPublisher } from "../features/accounts/root-ca-publisher.ts";
import { serviceAccountTokenSecrets } from "../features/accounts/service-account-token-secrets.ts";
import type { ApprovalPolicy } from "../features/certificates/policy/approval-policy.ts";
import type { ServerIdentity } from "../features/certificates/signers/server-identity.ts";
import { certificateControllers } from "../features/certificates/certificate-controllers.ts";
import { enabledControllers } from "./enabled-controllers.ts";
import type { AuthorityFor } from "../features/certificates/authorities/signing-authorities.ts";
import type { TokenServices } from "../features/accounts/token-services.ts";

export interface ControllerListOptions {
  readonly options: ControllerOptions;
  readonly names: Names;
  readonly definitions: readonly ResourceType[];
  /** PEM of what verifies the server; empty where the system's own roots do: then nothing is published. */
  readonly caCertificates: string;
  /** Left out where the token signing key is not at hand: token Secrets are then not filled here. */
  readonly issueSecretToken?: TokenServices["issueSecretToken"];
  readonly authorityFor: AuthorityFor;
  readonly policy: (() => ApprovalPolicy) | undefined;
  /** How clients know the API server. Throws while it is not known. */
  readonly server: () => ServerIdentity;
}

/** The loops that `--controllers` switches on. Throws UsageError for a name that no loop has. */
export function controllerList(given: ControllerListOptions): Controller[] {
  const enabled = enabledControllers(given.options.controllers);
  return everyController(given).filter(({ name }) => enabled.has(name));
}

function everyController(given: ControllerListOptions): Controller[] {
  const { options, names, policy, definitions, caCertificates, issueSecretToken, authorityFor, server } = given;
  return [
    defaultServiceAccount,
    bootstrapTokenCleaner,
    ...(caCertificates === "" ? [] : [rootCaPublisher({ caCertificates })]),
    ...(issueSecretToken === undefined ? [] : [tokenSecrets({ caCertificates, issueSecretToken })]),
    namespaceTermination({ contents: definitions.filter(({ scope }) => scope === "Namespaced") }),
    // As upstream: there are many events, and nothing depends on them.
    garbageCollector({ resources: definitions.filter(({ plural }) => plural !== "events") }),
    eventCleaner,
    clusterRoleAggregation({ aggregateRules: (role, all) => aggregateRules(role, [...all]) }),
    ...certificateControllers({ options, names, policy, authorityFor, server }),
  ];
}

const tokenSecrets = ({
  caCertificates,
  issueSecretToken,
}: Required<Pick<ControllerListOptions, "caCertificates" | "issueSecretToken">>): Controller =>
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
