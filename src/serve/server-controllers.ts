import type { Logger } from "pino";
import type { Clock } from "../api/clock.ts";
import type { Handler } from "../api/http-message.ts";
import type { Names } from "../api/names.ts";
import { aggregateRules } from "../authorization/index.ts";
import type { ServeOptions } from "../cli/serve-flags.ts";
import { ApiClient } from "../client/api-client.ts";
import type { ResourceReference } from "../client/api-client.ts";
import { inProcessTransport } from "../client/in-process-transport.ts";
import { InformerSet } from "../client/informer-set.ts";
import { resourceReferences } from "../client/resource-references.ts";
import { clusterRoleAggregation } from "../controllers/cluster-role-aggregation.ts";
import type { Controller } from "../controllers/controller.ts";
import { defaultServiceAccount } from "../controllers/default-service-account.ts";
import { eventCleaner } from "../controllers/event-cleaner.ts";
import { garbageCollector } from "../controllers/garbage-collector.ts";
import { namespaceTermination } from "../controllers/namespace-termination.ts";
import { rootCaPublisher } from "../controllers/root-ca-publisher.ts";
import { runControllers } from "../controllers/run-controllers.ts";
import { serviceAccountTokenSecrets } from "../controllers/service-account-token-secrets.ts";
import { systemSchedule } from "../controllers/work-queue.ts";
import type { ResourceDefinition } from "../registry/resource-definition.ts";
import type { ApprovalPolicy } from "../signers/approval-policy.ts";
import { certificateControllers } from "./certificate-controllers.ts";
import type { SigningAuthorities } from "./signing-authorities.ts";
import type { TokenServices } from "./token-services.ts";

export interface ServerControllersOptions {
  readonly options: ServeOptions;
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Logger;
  readonly definitions: readonly ResourceDefinition[];
  readonly handler: Handler;
  /** The controllers' own identity. */
  readonly bearerToken: string;
  readonly caCertificates: string;
  readonly issueSecretToken: TokenServices["issueSecretToken"];
  readonly signing: SigningAuthorities;
  readonly policy: (() => ApprovalPolicy) | undefined;
}

/** Runs every loop in this process, through the same chain as everybody. */
export function startServerControllers(server: ServerControllersOptions): { stop(): Promise<void> } {
  const { names, clock, log, handler, bearerToken } = server;
  const client = new ApiClient(inProcessTransport(handler, { bearerToken, userAgent: "signet-controllers" }));
  const informers = new InformerSet(client, (error) => log.warn({ err: error }, "an informer lost its watch"));
  const running = runControllers(serverControllers(server), {
    names,
    references: resourceReferences(names),
    client,
    informers,
    clock,
    schedule: systemSchedule,
    log,
  });
  return {
    async stop() {
      await running.stop();
      client.close();
    },
  };
}

function serverControllers(server: ServerControllersOptions): Controller[] {
  const { options, names, policy, definitions, caCertificates, issueSecretToken, signing } = server;
  const resources = definitions.map(referenceTo);
  return [
    defaultServiceAccount,
    rootCaPublisher({ caCertificates }),
    serviceAccountTokenSecrets({
      caCertificates,
      issueToken: (account, secret) =>
        issueSecretToken({
          namespace: account.metadata.namespace ?? "",
          secretName: secret.metadata.name ?? "",
          serviceAccountName: account.metadata.name ?? "",
          serviceAccountUid: account.metadata.uid ?? "",
        }),
    }),
    namespaceTermination({ contents: resources.filter(({ isNamespaced }) => isNamespaced) }),
    // As upstream: events come in numbers, and nobody's life hangs on them.
    garbageCollector({ resources: resources.filter(({ resource }) => resource !== "events") }),
    eventCleaner,
    clusterRoleAggregation({ aggregateRules: (role, all) => aggregateRules(role, [...all]) }),
    ...certificateControllers({ options, names, policy, authorityFor: signing.authorityFor }),
  ];
}

const referenceTo = ({ group, version, plural, kind, scope }: ResourceDefinition): ResourceReference => ({
  group,
  version,
  resource: plural,
  kind,
  isNamespaced: scope === "Namespaced",
});
