import { messageOf } from "../api/thrown-error.ts";
import { ApiError } from "../api/api-error.ts";
import type { ApiClient } from "../client/api-client.ts";
import type { InformerSet } from "./informer-set.ts";
import type { Clock, Schedule } from "../api/clock.ts";
import type { Names } from "../api/names.ts";
import { LineLimit } from "../logging/line-limit.ts";
import { traced } from "../tracing/loop-trace.ts";
import { WorkQueue } from "./work-queue.ts";
import type { QueueCounts, WorkQueueOptions } from "./work-queue.ts";
import type { Log } from "../logging/log.ts";

/** What all controllers share. Controllers talk to the server only through the client. */
export interface SharedControllerContext {
  readonly names: Names;
  readonly client: ApiClient;
  /** Local caches of resources, shared by all controllers. */
  readonly informers: InformerSet;
  /** The time of day. */
  readonly clock: Clock;
  /** Measures durations: setting the time of day does not change it. */
  readonly monotonic: Clock;
  readonly schedule: Schedule;
  readonly log: Pick<Log, "info" | "error">;
  /** For metrics. */
  readonly queueCounts: QueueCounts;
}

/** The context of one controller. */
export interface ControllerContext extends SharedControllerContext {
  /** The controller's name: in its log lines, traces and metrics. */
  readonly name: string;
}

export interface StartedController {
  readonly queue: WorkQueue;
  /**
   * Called when the local caches have their first list. For controllers that must not mistake an empty cache for the
   * real state.
   */
  readonly onSynced?: () => void;
}

/**
 * One controller. `start` registers its event handlers. The queue that it returns is stopped when the process ends or loses the
 * lease.
 */
export interface Controller {
  /** The name by which `--controllers` switches it on or off. */
  readonly name: string;
  start(context: ControllerContext): StartedController;
}

interface ControllerQueueOptions extends Pick<WorkQueueOptions, "concurrency"> {
  readonly reconcile: (key: string) => Promise<string>;
}

/** While a CA cannot be reached, thousands of requests fail again and again. Ten log lines are enough to say why. */
const failureLines = 10;
const failureIntervalMilliseconds = 10_000;

/**
 * Makes the work queue of a controller, which logs failures. Conflicts (409) and missing objects (404) are normal: their keys are
 * retried without a log line. `reconcile` returns what it did, or why it did nothing, in a few words and without secrets: for
 * `signet:loop` and the debug log.
 */
export function controllerQueue(
  { name, log, clock, schedule, queueCounts }: ControllerContext,
  { reconcile, ...options }: ControllerQueueOptions,
): WorkQueue {
  const limit = new LineLimit({
    clock,
    lines: failureLines,
    intervalMilliseconds: failureIntervalMilliseconds,
  });
  return new WorkQueue({
    ...options,
    count: queueCounts.of(name),
    reconcile: traced(name, reconcile),
    schedule,
    onError: (key, error) => {
      if (error instanceof ApiError && (error.code === 409 || error.code === 404)) return;
      const failures = limit.take();
      if (failures === undefined) return;
      if (failures > 0) log.error({ controller: name, failures }, "more failed than are logged");
      log.error({ controller: name, key, error: messageOf(error) }, "will retry");
    },
  });
}
