export interface PeriodicTask {
  readonly milliseconds: number;
  /** May be asynchronous: a turn that comes while the last one is not done is left out. */
  readonly task: () => void | Promise<void>;
  /** Told what the task threw. The next turn comes all the same. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Does something again and again until it is stopped; the first time after one interval. A failure is told and never ends
 * the process: what cannot be read or opened now (a file's rights, a lack of descriptors) may be there at the next turn. Does
 * not keep the process alive.
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
  const timer = setInterval(() => void turn(), milliseconds).unref();
  return { stop: () => clearInterval(timer) };
}
