import type { Names } from "../machinery/api/names.ts";
import { aggregateRules } from "../machinery/authorization/authorization.ts";
import type { ControllerOptions } from "./controller-flags.ts";
import type { ResourceReference } from "../machinery/client/api-client.ts";
import { clusterRoleAggregation } from "../features/access/rbac/cluster-role-aggregation.ts";
import type { Controller } from "../machinery/loops/controller.ts";
import { bootstrapTokenCleaner } from "../features/nodes/bootstrap/bootstrap-token-cleaner.ts";
import { defaultServiceAccount } from "../features/accounts/default-service-account.ts";
import { eventCleaner } from "../features/core/event-cleaner.ts";
import { garbageCollector } from "../features/core/garbage-collector.ts";
import { namespaceTermination } from "../features/core/namespace-termination.ts";
import { rootCaPublisher } from "../features/accounts/root-ca-publisher.ts";
import { serviceAccountTokenSecrets } from "../features/accounts/service-account-token-secrets.ts";
import type { ResourceDefinition } from "../machinery/registry/resource-definition.ts";
import type { ApprovalPolicy } from "../features/certificates/policy/approval-policy.ts";
import type { ServerIdentity } from "../features/certificates/signers/server-identity.ts";
import { certificateControllers } from "../features/certificates/certificate-controllers.ts";
import { enabledControllers } from "./enabled-controllers.ts";
import type { RunningSigners } from "../features/certificates/signers/running-signers.ts";
import type { TokenServices } from "../features/accounts/token-services.ts";

export interface ControllerListOptions {
  readonly options: ControllerOptions;
  readonly names: Names;
  readonly definitions: readonly Pick<ResourceDefinition, "group" | "version" | "plural" | "kind" | "scope">[];
  /** PEM of what verifies the server; empty where the system's own roots do: then nothing is published. */
  readonly caCertificates: string;
  /** Left out where the token signing key is not at hand: token Secrets are then not filled here. */
  readonly issueSecretToken?: TokenServices["issueSecretToken"];
  readonly signers: RunningSigners;
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
  const { options, names, policy, definitions, caCertificates, issueSecretToken, signers, server } = given;
  const isSigning = enabledControllers(options.controllers).has("csrsigning");
  const resources = definitions.map(referenceTo);
  return [
    defaultServiceAccount,
    bootstrapTokenCleaner,
    ...(caCertificates === "" ? [] : [rootCaPublisher({ caCertificates })]),
    ...(issueSecretToken === undefined ? [] : [tokenSecrets({ caCertificates, issueSecretToken })]),
    namespaceTermination({ contents: resources.filter(({ isNamespaced }) => isNamespaced) }),
    // As upstream: events come in numbers, and nobody's life hangs on them.
    garbageCollector({ resources: resources.filter(({ resource }) => resource !== "events") }),
    eventCleaner,
    clusterRoleAggregation({ aggregateRules: (role, all) => aggregateRules(role, [...all]) }),
    ...certificateControllers({ options, names, isSigning, policy, signers, server }),
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

const referenceTo = ({
  group,
  version,
  plural,
  kind,
  scope,
}: ControllerListOptions["definitions"][number]): ResourceReference => ({
  group,
  version,
  resource: plural,
  kind,
  isNamespaced: scope === "Namespaced",
});
