import type { Handler } from "../machinery/api/http-message.ts";
import { ApiClient } from "../machinery/client/api-client.ts";
import { inProcessTransport } from "../machinery/client/in-process-transport.ts";
import { startElectedControllers } from "../machinery/loops/elected-controllers.ts";
import { RegistryInformer } from "../machinery/loops/registry-informer.ts";
import type { ConnectedAccess } from "../features/access/feature.ts";
import { runningSigners } from "../features/certificates/signers/running-signers.ts";
import { leaseResource } from "../features/core/index.ts";
import type { Administrator } from "./administrator.ts";
import type { ConnectedFeatures } from "./connect-features.ts";
import { controllerList } from "./controllers/controller-list.ts";
import type { OpenedServer } from "./open-server.ts";
import type { ServerConfig } from "./settings/server-config.ts";
import { grantOnChange } from "./signer-grants.ts";
import type { GrantOptions } from "./signer-grants.ts";

interface ServerLoopsOptions extends Pick<GrantOptions, "grantTo"> {
  readonly opened: OpenedServer;
  readonly connected: ConnectedFeatures;
  readonly handler: Handler;
  /** The controllers' own identity. Called only when there are controllers to run. */
  readonly controllersToken: () => string;
  readonly administrator: Administrator;
  readonly delegated: ReturnType<ConnectedAccess["delegatedAuthentication"]>;
}

/** Starts the server's background work: compaction, the publication of its own data, and the enabled controllers. */
export function startServerLoops(config: ServerConfig, server: ServerLoopsOptions): AsyncDisposableStack {
  const { opened, administrator, delegated } = server;
  const { log } = opened.shared;
  const loops = new AsyncDisposableStack();
  const add = (loop: { stop(): void | Promise<void> }): unknown => loops.adopt(loop, (one) => one.stop());
  opened.compactor.start();
  add(opened.compactor);
  add(delegated.follow((error) => log.error({ err: error }, "could not publish the client CAs, will retry")));
  add(administrator.keep());
  if (config.controllers.enabled.size > 0) add(startControllers(config, server));
  return loops;
}

/**
 * Runs the controllers in this process, while it holds their Lease. They read the server's own copy of the objects, and write through the
 * same request chain as other clients.
 */
function startControllers(
  { names, controllers: settings, listener }: ServerConfig,
  { opened, connected, handler, controllersToken, grantTo }: ServerLoopsOptions,
): { stop(): Promise<void> } {
  const { shared, stores, observation, authorities, certificate, policy } = opened;
  const { clock, log } = shared;
  const { accounts, status } = connected;
  const { maximumLifetimeMilliseconds, revocation } = settings.certificates;
  const { own, signing, configuredSigners } = authorities;
  const identity = { bearerToken: controllersToken(), userAgent: "signet-controllers" };
  const client = new ApiClient(inProcessTransport(handler, identity));
  const controllers = controllerList({
    settings,
    names,
    policy,
    issueSecretToken: accounts.tokens.issueSecretToken,
    definitions: stores.definitions,
    signers: runningSigners({
      names,
      authorityFor: signing.authorityFor,
      configured: grantOnChange(configuredSigners, { grantTo, log }),
      maximumLifetimeSeconds: Math.floor(maximumLifetimeMilliseconds / 1000),
      revocation: revocation && { ...revocation, hasOcsp: true },
    }),
    listPublisher: status?.listPublisher,
    server: () => certificate.identity(),
    caCertificates: () => certificate.caCertificates(),
    serverAnchors: listener.certificate === undefined ? () => own.server.current().anchors : undefined,
    isRetired: (anchor) => authorities.isRetired(anchor),
  });
  const running = startElectedControllers({
    names,
    client,
    clock,
    log,
    controllers,
    queueCounts: observation.queueCounts,
    leases: client.resource(leaseResource(names), names.namespaces.system),
    openInformer: (type, onError) => new RegistryInformer(stores.serving(type), { onError }),
    isElected: settings.isElected,
  });
  return {
    async stop() {
      await running.stop();
      client.close();
    },
  };
}
