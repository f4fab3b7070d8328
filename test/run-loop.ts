import { monotonicClock, systemClock, systemSchedule } from "../src/machinery/api/clock.ts";
import type { Schedule } from "../src/machinery/api/clock.ts";
import { namesFor } from "../src/machinery/api/names.ts";
import { ApiClient } from "../src/machinery/client/api-client.ts";
import { inProcessTransport } from "../src/machinery/client/in-process-transport.ts";
import type { Controller, SharedControllerContext } from "../src/machinery/loops/controller.ts";
import { runControllers } from "../src/machinery/loops/elected-controllers.ts";
import { InformerSet } from "../src/machinery/loops/informer-set.ts";
import { QueueCounts } from "../src/machinery/loops/work-queue.ts";
import type { WorkQueue } from "../src/machinery/loops/work-queue.ts";
import type { ManualTime } from "./manual-time.ts";
import type { TestServer } from "./test-server.ts";
import type { Log } from "../src/machinery/logging/log.ts";

export const silent: Pick<Log, "info" | "error"> = { info: () => undefined, error: () => undefined };

/** For retries that a test does not wait for. */
export const atOnce: Schedule = (run) => {
  const immediate = setImmediate(run);
  return () => clearImmediate(immediate);
};

/** What a loop gets from a server with default settings, in real time and without a log, unless the test says otherwise. */
export const loopContext = (
  given: Pick<SharedControllerContext, "client"> & Partial<SharedControllerContext>,
): SharedControllerContext => ({
  names: namesFor("platform", { hasUpstreamNames: true }),
  informers: new InformerSet(given.client),
  clock: systemClock,
  monotonic: monotonicClock,
  schedule: systemSchedule,
  log: silent,
  queueCounts: new QueueCounts(),
  ...given,
});

export interface RunningLoop {
  readonly queue: WorkQueue;
  stop(): Promise<void>;
}

interface RunLoopOptions {
  readonly time: ManualTime;
  readonly log?: Pick<Log, "info" | "error">;
  /** The client that the loop's informers follow the server with. Default: the loop's own. */
  readonly followed?: ApiClient;
}

/** Runs one loop against a server whose own loops are off. Resolves when the loop has seen what is there. */
export async function runLoop(
  server: TestServer,
  controller: Controller,
  { time, log = silent, followed }: RunLoopOptions,
): Promise<RunningLoop> {
  const client = new ApiClient(inProcessTransport(server.handler, { bearerToken: server.adminToken }));
  let queue: WorkQueue | undefined;
  const watched: Controller = {
    name: controller.name,
    start(context) {
      const started = controller.start(context);
      ({ queue } = started);
      return started;
    },
  };
  const { clock, monotonic, schedule } = time;
  const informers = new InformerSet(followed ?? client);
  const loops = runControllers([watched], loopContext({ client, informers, clock, monotonic, schedule, log }));
  await loops.synced;
  if (queue === undefined) throw new Error("the loop has no queue");
  return {
    queue,
    async stop() {
      await loops.stop();
      client.close();
    },
  };
}
