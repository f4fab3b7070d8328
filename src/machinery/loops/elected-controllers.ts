import { messageOf } from "../api/thrown-error.ts";
import { monotonicClock, systemSchedule } from "../api/clock.ts";
import type { Schedule } from "../api/clock.ts";
import { qualified } from "../api/resource-type.ts";
import type { ResourceClient } from "../client/api-client.ts";
import { InformerSet } from "./informer-set.ts";
import type { OpenInformer } from "./informer-set.ts";
import { TooManyObjects } from "./object-budget.ts";
import { ChangesLost } from "./registry-informer.ts";
import type { Controller, SharedControllerContext } from "./controller.ts";
import { LeaderElection } from "./leader-election.ts";
import type { ElectionLease } from "./leader-election.ts";
import { hasProcessEnded, processIdentity } from "./process-identity.ts";
import { rateLimitedReport } from "../logging/rate-limited-report.ts";

interface ElectedControllersOptions extends Pick<
  SharedControllerContext,
  "names" | "client" | "clock" | "log" | "queueCounts"
> {
  readonly controllers: readonly Controller[];
  /** Default: informers that list and watch through the client. */
  readonly openInformer?: OpenInformer;
  /** The client for the Lease of the loops. */
  readonly leases: ResourceClient<ElectionLease>;
  /** Whether only one of several processes runs the loops. False: this process runs them in any case. */
  readonly isElected: boolean;
  /** Default: the timers of the process. */
  readonly schedule?: Schedule;
}

/** The pause before the loops ask again a server that has sent too many objects. */
const fullMilliseconds = 60_000;

/** The name of the Lease of the process that runs the loops. */
export const controllersLeaseName = "signet-controllers";

/**
 * The state of the loops in this process. `standby`: they do not run here. `starting`: this process reads all objects first. `running`:
 * they run here.
 */
export type ElectedState = "standby" | "starting" | "running";

export interface ElectedControllers {
  state(): ElectedState;
  stop(): Promise<void>;
}

/** Runs controllers while this process holds their lease. */
export function startElectedControllers(given: ElectedControllersOptions): ElectedControllers {
  const options = { schedule: systemSchedule, ...given };
  const terms = new Terms(options);
  if (!options.isElected) {
    terms.start();
    return { state: () => terms.state, stop: () => terms.stop() };
  }
  const election = new LeaderElection({
    leases: options.leases,
    leaseName: controllersLeaseName,
    identity: processIdentity(),
    clock: options.clock,
    monotonic: monotonicClock,
    schedule: options.schedule,
    log: options.log,
    hasHolderEnded: hasProcessEnded,
    onElected: () => terms.start(),
    onDeposed: () => terms.stop(),
  });
  election.start();
  return { state: () => terms.state, stop: () => election.stop() };
}

type TermsOptions = ElectedControllersOptions & Required<Pick<ElectedControllersOptions, "schedule">>;

/**
 * The terms in which the loops run in this process: from its election until it loses the lease. The loops also start anew within a term
 * when an informer has lost changes, or when the objects take too much memory.
 */
class Terms {
  state: ElectedState = "standby";
  readonly #options: TermsOptions;
  readonly #reportFailure: (failure: object) => void;
  #running: RunningControllers | undefined;

  constructor(options: TermsOptions) {
    this.#options = options;
    // Limited, because each object that cannot be read is a failure.
    this.#reportFailure = rateLimitedReport((failure: object, failures) =>
      options.log.info({ ...failure, failures }, "an informer reports a failure, and continues"),
    );
  }

  start(): void {
    this.state = "starting";
    const { names, client, clock, schedule, log, queueCounts, controllers, openInformer } = this.#options;
    // New informers for each term: the old caches missed changes in between.
    const informers = new InformerSet(client, {
      open: openInformer,
      onError: (error, { group, plural }) => {
        this.#reportFailure({ resource: qualified({ group, resource: plural }), error: messageOf(error) });
        if (error instanceof ChangesLost) void this.#restart({ afterMilliseconds: 0 });
        if (error instanceof TooManyObjects) {
          log.error({ error: error.message }, "the loops stop for a minute");
          // The informers must drop their objects: otherwise there would be no room when the server sends fewer again.
          void this.#restart({ afterMilliseconds: fullMilliseconds });
        }
      },
    });
    const context = { names, client, informers, clock, monotonic: monotonicClock, schedule, log, queueCounts };
    const started = runControllers(controllers, context);
    this.#running = started;
    void started.synced.then(() => {
      if (this.#running === started) this.state = "running";
    });
  }

  async stop(): Promise<void> {
    const ended = this.#running;
    this.#running = undefined;
    this.state = "standby";
    await ended?.stop();
  }

  async #restart({ afterMilliseconds }: { readonly afterMilliseconds: number }): Promise<void> {
    const ended = this.#running;
    if (ended === undefined) return;
    this.state = "starting";
    await ended.stop();
    // Start only once, although several informers may lose changes at once, and not when the process has stopped in between.
    this.#options.schedule(() => {
      if (this.#running === ended) this.start();
    }, afterMilliseconds);
  }
}

interface RunningControllers {
  /** Resolves when the local caches have their first list. Never resolves when `stop` was called before. */
  readonly synced: Promise<void>;
  /** Stops the controllers. Resolves when their running reconciliations are done. */
  stop(): Promise<void>;
}

/** Starts controllers and their informers. */
export function runControllers(
  controllers: readonly Controller[],
  context: SharedControllerContext,
): RunningControllers {
  const stopping = new AbortController();
  const started = controllers.map((controller) => controller.start({ ...context, name: controller.name }));
  const synced = new Promise<void>((resolve) => {
    void context.informers.start(stopping.signal).then(() => {
      if (stopping.signal.aborted) return;
      for (const { onSynced } of started) onSynced?.();
      resolve();
    });
  });
  return {
    synced,
    async stop() {
      stopping.abort();
      await Promise.all(started.map(({ queue }) => queue.stop()));
    },
  };
}
