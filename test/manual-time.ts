import type { Clock, Schedule } from "../src/machinery/api/clock.ts";
import { ApiClient } from "../src/machinery/client/api-client.ts";
import { inProcessTransport } from "../src/machinery/client/in-process-transport.ts";
import { platformNames } from "../src/machinery/api/names.ts";
import type { Controller, ControllerLog } from "../src/machinery/loops/controller.ts";
import { InformerSet } from "../src/machinery/loops/informer.ts";
import { runControllers } from "../src/machinery/loops/elected-controllers.ts";
import type { WorkQueue } from "../src/machinery/loops/work-queue.ts";
import type { TestServer } from "./test-server.ts";

/** A clock and timers that move only when a test says so. */
export class ManualTime {
  #now: number;
  #timers: { readonly at: number; readonly callback: () => void }[] = [];

  readonly #waiting: (() => void)[] = [];

  constructor(now: number = Date.now()) {
    this.#now = now;
  }

  readonly clock: Clock = { now: () => this.#now };

  readonly schedule: Schedule = (callback, milliseconds) => {
    const timer = { at: this.#now + milliseconds, callback };
    this.#timers.push(timer);
    for (const resolve of this.#waiting.splice(0)) resolve();
    return () => (this.#timers = this.#timers.filter((one) => one !== timer));
  };

  /** Resolves when something waits for time to pass. */
  whenTimerIsSet(): Promise<void> {
    if (this.#timers.length > 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Lets time pass, and sets off the timers that are due, in order. */
  pass(milliseconds: number): void {
    this.#now += milliseconds;
    const due = this.#timers.filter(({ at }) => at <= this.#now).toSorted((one, other) => one.at - other.at);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { callback } of due) callback();
  }
}

export interface RunningLoop {
  readonly queue: WorkQueue;
  stop(): Promise<void>;
}

export const silent: ControllerLog = { info: () => undefined, error: () => undefined };

/** Runs one loop against a server whose own loops are off. Resolves when the loop has seen what is there. */
export async function runLoop(
  server: TestServer,
  controller: Controller,
  time: ManualTime,
  log: ControllerLog = silent,
): Promise<RunningLoop> {
  const client = new ApiClient(inProcessTransport(server.handler, { bearerToken: server.adminToken }));
  let queue: WorkQueue | undefined;
  const loops = runControllers(
    [
      {
        name: controller.name,
        start(context) {
          const started = controller.start(context);
          ({ queue } = started);
          return started;
        },
      },
    ],
    {
      names: platformNames,
      client,
      informers: new InformerSet(client),
      clock: time.clock,
      schedule: time.schedule,
      log,
    },
  );
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
