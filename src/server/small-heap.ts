import { performance } from "node:perf_hooks";
import type { EventLoopUtilization } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { periodically } from "../machinery/scheduling/periodically.ts";

/** How often the server checks whether it is idle, and how often V8 checks whether it may return memory. */
const pollMilliseconds = 2_000;

/**
 * Keeps V8's free memory out of the process, in two ways.
 *
 * Under load, a full garbage collection runs when the heap has grown by half. By default V8 waits until the heap has at least doubled, and
 * most memory of a busy server would be garbage. Measured (docs/performance-limits.md): growth by an eighth takes a tenth less memory, but
 * long lists then take twice as long.
 *
 * After the load, V8's memory reducer returns free memory to the system, in steps of a few milliseconds. By itself it never starts on a
 * server: it waits for a low rate of allocation, but computes that rate only at a garbage collection, which an idle program does not cause.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--heap-growing-percent=50");
  setFlagsFromString(`--gc-memory-reducer-start-delay-ms=${pollMilliseconds}`);
  setFlagsFromString(`--memory-reducer-delay-ms=${pollMilliseconds}`);
  let last: EventLoopUtilization | undefined;
  const rest = new RestAfterWork({
    // At each of its checks, V8 reads this flag: whether memory is now more important than speed.
    begin: () => setFlagsFromString("--optimize-for-size"),
    end: () => setFlagsFromString("--no-optimize-for-size"),
  });
  periodically({
    milliseconds: pollMilliseconds,
    task() {
      const now = performance.eventLoopUtilization();
      rest.sample(performance.eventLoopUtilization(now, last).utilization);
      last = now;
    },
    onFailure: () => {},
  });
}

/** A server that does only its periodic work is far below this utilization. */
const idleUtilization = 0.05;
const samplesUntilRest = 3;
/** Long enough for a reducer that V8 started before these settings, which first checks after half a minute. */
const samplesOfRest = 20;

interface Rest {
  begin(): void;
  end(): void;
}

/** Begins one rest after each period of work, once that has been over for some samples, and ends it after some more samples. */
export class RestAfterWork {
  readonly #rest: Rest;
  #hasWorked = true;
  #idleSamples = 0;

  constructor(rest: Rest) {
    this.#rest = rest;
  }

  /** Takes a sample: the share of the time since the last sample in which the event loop was busy. */
  sample(utilization: number): void {
    if (utilization > idleUtilization) {
      if (this.#isResting) this.#rest.end();
      this.#hasWorked = true;
      this.#idleSamples = 0;
      return;
    }
    this.#idleSamples += 1;
    if (!this.#hasWorked) return;
    if (this.#idleSamples === samplesUntilRest) this.#rest.begin();
    if (this.#idleSamples !== samplesUntilRest + samplesOfRest) return;
    this.#rest.end();
    this.#hasWorked = false;
  }

  get #isResting(): boolean {
    return this.#hasWorked && this.#idleSamples >= samplesUntilRest;
  }
}
