import type { Logger } from "pino";
import type { Clock } from "../machinery/api/clock.ts";
import type { Handler } from "../machinery/api/http-message.ts";
import { ApiClient } from "../machinery/client/api-client.ts";
import { inProcessTransport } from "../machinery/client/in-process-transport.ts";
import { controllerList } from "./controller-list.ts";
import type { ControllerListOptions } from "./controller-list.ts";
import { startElectedControllers } from "../machinery/loops/elected-controllers.ts";
import type { Stores } from "../machinery/registry/stores.ts";
import type { QueueCounts } from "../machinery/loops/queue-counts.ts";
import type { TokenServices } from "../features/accounts/token-services.ts";
import { RegistryInformer } from "./registry-informer.ts";
import { leaseResource } from "../features/core/index.ts";

export interface ServerControllersOptions extends ControllerListOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly handler: Handler;
  readonly stores: Stores;
  readonly queueCounts: QueueCounts;
  /** The controllers' own identity. */
  readonly bearerToken: string;
  readonly issueSecretToken: TokenServices["issueSecretToken"];
}

/**
 * Runs the controllers in this process, while it holds their Lease. They read the server's own copy of the objects, and write
 * through the same request chain as other clients.
 */
export function startServerControllers(server: ServerControllersOptions): { stop(): Promise<void> } {
  const { settings, names, clock, log, handler, stores, bearerToken, queueCounts } = server;
  const client = new ApiClient(inProcessTransport(handler, { bearerToken, userAgent: "signet-controllers" }));
  const running = startElectedControllers({
    names,
    client,
    leases: client.resource(leaseResource(names), names.namespaces.system),
    clock,
    log,
    controllers: controllerList(server),
    openInformer: (type, onError) => new RegistryInformer(stores.serving(type), { onError }),
    isElected: settings.isElected,
    queueCounts,
  });
  return {
    async stop() {
      await running.stop();
      client.close();
    },
  };
}
