import { longestTimerMilliseconds } from "../api/clock.ts";

interface PeriodicTask {
  readonly milliseconds: number;
  /** May be asynchronous. When a run is still busy, the next one is skipped. */
  readonly task: () => void | Promise<void>;
  /** Receives what the task threw. The next run takes place anyway. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Runs a task at a fixed interval until it is stopped; the first run is after one interval. A failure is reported and
 * never ends the process: a file that cannot be read now (permissions, too few descriptors) may be readable at the next
 * run. Does not keep the process alive.
 */
export function periodically({ milliseconds, task, onFailure }: PeriodicTask): { stop(): void } {
  let isRunning = false;
  const turn = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    try {
      await task();
    } catch (error) {
      onFailure(error);
    } finally {
      isRunning = false;
    }
  };
  const timer = setInterval(() => void turn(), Math.min(milliseconds, longestTimerMilliseconds)).unref();
  return { stop: () => clearInterval(timer) };
}
