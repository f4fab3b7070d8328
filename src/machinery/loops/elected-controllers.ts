import { messageOf } from "../api/thrown-error.ts";
import { systemSchedule } from "../api/clock.ts";
import type { Clock } from "../api/clock.ts";
import type { Names } from "../api/names.ts";
import type { ApiClient, ResourceClient } from "../client/api-client.ts";
import { InformerSet } from "./informer.ts";
import type { OpenInformer } from "./informer.ts";
import { ChangesLost } from "./registry-informer.ts";
import type { Controller, ControllerLog, ControllerContext } from "./controller.ts";
import { LeaderElection } from "./leader-election.ts";
import type { ElectionLease } from "./leader-election.ts";
import type { QueueCounts } from "./work-queue.ts";
import { hasProcessEnded, processIdentity } from "./process-identity.ts";
import { rateLimitedReport } from "../logging/rate-limited-report.ts";

interface ElectedControllersOptions {
  readonly names: Names;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: ControllerLog;
  readonly controllers: readonly Controller[];
  /** Default: informers that list and watch through the client. */
  readonly openInformer?: OpenInformer;
  /** Where the loops' Lease is kept. */
  readonly leases: ResourceClient<ElectionLease>;
  /** Only one of several processes runs the loops. False: this process runs them in any case. */
  readonly isElected: boolean;
  /** For metrics. */
  readonly queueCounts: QueueCounts;
}

const controllersLeaseName = "signet-controllers";

/** standby: another process runs the loops. starting: this one reads all objects first. running: they run here. */
export type ElectedState = "standby" | "starting" | "running";

export interface ElectedControllers {
  state(): ElectedState;
  stop(): Promise<void>;
}

/** Runs controllers while this process holds their lease. */
export function startElectedControllers(options: ElectedControllersOptions): ElectedControllers {
  const { names, client, clock, log, controllers } = options;
  let running: { stop(): Promise<void> } | undefined;
  let state: ElectedState = "standby";
  let isRestarting = false;
  // Each object that cannot be read is a failure.
  const reportFailure = rateLimitedReport((failure: object, failures) =>
    log.info({ ...failure, failures }, "an informer reports a failure, and continues"),
  );
  const restart = async (): Promise<void> => {
    const ended = running;
    // Several informers may lose changes at once.
    if (ended === undefined || isRestarting) return;
    isRestarting = true;
    state = "starting";
    await ended.stop();
    isRestarting = false;
    if (running === ended) start();
  };
  const start = (): void => {
    state = "starting";
    // New informers for each term: the old caches missed changes in between.
    const informers = new InformerSet(client, {
      open: options.openInformer,
      onError(error, { group, plural }) {
        reportFailure({ resource: group === "" ? plural : `${plural}.${group}`, error: messageOf(error) });
        if (error instanceof ChangesLost) void restart();
      },
    });
    const started = runControllers(controllers, {
      names,
      client,
      informers,
      clock,
      schedule: systemSchedule,
      log,
      queueCounts: options.queueCounts,
    });
    running = started;
    void started.synced.then(() => {
      if (running === started) state = "running";
    });
  };
  const stop = async (): Promise<void> => {
    const ended = running;
    running = undefined;
    state = "standby";
    await ended?.stop();
  };
  if (!options.isElected) {
    start();
    return { state: () => state, stop };
  }
  const election = new LeaderElection({
    leases: options.leases,
    leaseName: controllersLeaseName,
    identity: processIdentity(),
    clock,
    monotonic: performance,
    schedule: systemSchedule,
    log,
    isHolderGone: hasProcessEnded,
    onElected: start,
    onDeposed: stop,
  });
  election.start();
  return { state: () => state, stop: () => election.stop() };
}

/**
 * Starts controllers and their informers. The returned function stops them, and resolves when the current work is done.
 */
export function runControllers(
  controllers: readonly Controller[],
  context: ControllerContext,
): { readonly synced: Promise<void>; stop(): Promise<void> } {
  const stopping = new AbortController();
  const started = controllers.map((controller) => controller.start(context));
  const synced = context.informers.start(stopping.signal).then(() => {
    for (const { onSynced } of started) onSynced?.();
  });
  return {
    synced,
    async stop() {
      stopping.abort();
      await Promise.all(started.map(({ queue }) => queue.stop()));
    },
  };
}
