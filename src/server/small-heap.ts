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
  const idlePeriods = new IdlePeriods({
    // At each of its checks, V8 reads this flag: whether memory is now more important than speed.
    begin: () => setFlagsFromString("--optimize-for-size"),
    end: () => setFlagsFromString("--no-optimize-for-size"),
  });
  periodically({
    milliseconds: pollMilliseconds,
    task() {
      const now = performance.eventLoopUtilization();
      idlePeriods.sample(performance.eventLoopUtilization(now, last).utilization);
      last = now;
    },
    onFailure: () => {},
  });
}

/** A server that does only its periodic work is far below this utilization. */
const idleUtilization = 0.05;
const samplesUntilIdle = 3;
/** Long enough for a reducer that V8 started before these settings, which first checks after half a minute. */
const samplesOfIdlePeriod = 20;

interface IdlePeriod {
  begin(): void;
  end(): void;
}

/** Begins one idle period after each period of work, once that has been over for some samples, and ends it after some more samples. */
export class IdlePeriods {
  readonly #period: IdlePeriod;
  #hasWorked = true;
  #idleSamples = 0;

  constructor(period: IdlePeriod) {
    this.#period = period;
  }

  /** Takes a sample: the share of the time since the last sample in which the event loop was busy. */
  sample(utilization: number): void {
    if (utilization > idleUtilization) {
      if (this.#isInPeriod) this.#period.end();
      this.#hasWorked = true;
      this.#idleSamples = 0;
      return;
    }
    this.#idleSamples += 1;
    if (!this.#hasWorked) return;
    if (this.#idleSamples === samplesUntilIdle) this.#period.begin();
    if (this.#idleSamples !== samplesUntilIdle + samplesOfIdlePeriod) return;
    this.#period.end();
    this.#hasWorked = false;
  }

  get #isInPeriod(): boolean {
    return this.#hasWorked && this.#idleSamples >= samplesUntilIdle;
  }
}
