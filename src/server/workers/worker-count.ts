import { availableParallelism } from "node:os";
import { UsageError } from "../../machinery/command-line/flag.ts";

const maximumWorkers = 256;

/** The value of `--workers`: a number, or one for each core that this process may use. Throws UsageError. */
export function workerCount(value: string): number {
  if (value === "auto") return availableParallelism();
  const count = /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (count < 1 || count > maximumWorkers) {
    throw new UsageError(`--workers: ${JSON.stringify(value)} is not auto, or a number from 1 to ${maximumWorkers}`);
  }
  return count;
}

/** Bounds of the whole server are shared out: connections are spread evenly over the workers. */
export const perWorker = (total: number, workers: number): number => Math.ceil(total / workers);
