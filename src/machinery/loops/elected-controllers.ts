import type { Clock } from "../api/clock.ts";
import type { Names } from "../api/names.ts";
import { systemSchedule } from "../api/schedule.ts";
import type { ApiClient } from "../client/api-client.ts";
import { InformerSet } from "./informer-set.ts";
import { resourceReferences } from "../client/resource-references.ts";
import type { Controller, ControllerLog } from "./controller.ts";
import { LeaderElection } from "./leader-election.ts";
import { runControllers } from "./run-controllers.ts";
import { hasProcessEnded, processIdentity } from "./process-identity.ts";

export interface ElectedControllersOptions {
  readonly names: Names;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: ControllerLog;
  readonly controllers: readonly Controller[];
  /** Of several processes one runs the loops; otherwise this one does, whatever others do. */
  readonly isElected: boolean;
}

const controllersLeaseName = "signet-controllers";

/** Runs loops while this process holds their lease. */
export function startElectedControllers(options: ElectedControllersOptions): { stop(): Promise<void> } {
  const { names, client, clock, log, controllers } = options;
  const references = resourceReferences(names);
  let running: { stop(): Promise<void> } | undefined;
  const start = (): void => {
    // Copies of their own for each term: what was followed before has gone on without them.
    const informers = new InformerSet(client, (error) =>
      log.info({ error: error instanceof Error ? error.message : String(error) }, "an informer lost its watch"),
    );
    running = runControllers(controllers, {
      names,
      references,
      client,
      informers,
      clock,
      schedule: systemSchedule,
      log,
    });
  };
  const stop = async (): Promise<void> => {
    const ended = running;
    running = undefined;
    await ended?.stop();
  };
  if (!options.isElected) {
    start();
    return { stop };
  }
  const election = new LeaderElection({
    leases: client.resource(references.leases, names.namespaces.system),
    leaseName: controllersLeaseName,
    identity: processIdentity(),
    clock,
    schedule: systemSchedule,
    log,
    isHolderGone: hasProcessEnded,
    onElected: start,
    onDeposed: stop,
  });
  election.start();
  return { stop: () => election.stop() };
}
