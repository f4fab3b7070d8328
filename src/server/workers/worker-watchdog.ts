interface WorkerWatchdogOptions<W> {
  /** Asks a worker for a sign of life. Call `answered` when it answers. */
  readonly probe: (worker: W) => void;
  /** Called once for a worker that hangs. */
  readonly onHanging: (worker: W) => void;
}

/** The interval between two probes of a worker. */
export const probeMilliseconds = 5_000;
/** A worker hangs when it leaves this many consecutive probes unanswered: half a minute, a usual time for supervisors of workers. */
const maximumUnanswered = 6;

/**
 * Finds workers that hang: they neither answer nor end, while the kernel still gives them connections. It counts probes instead of
 * measuring time, so that a machine that slept does not make its workers seem to hang.
 */
export class WorkerWatchdog<W extends object> {
  readonly #options: WorkerWatchdogOptions<W>;
  /** The number of probes since the worker's last answer. */
  readonly #unanswered = new WeakMap<W, number>();

  constructor(options: WorkerWatchdogOptions<W>) {
    this.#options = options;
  }

  /** Call it every `probeMilliseconds`, with the workers that serve. */
  probeAll(workers: Iterable<W>): void {
    const { probe, onHanging } = this.#options;
    for (const worker of workers) {
      const unanswered = this.#unanswered.get(worker) ?? 0;
      this.#unanswered.set(worker, unanswered + 1);
      if (unanswered < maximumUnanswered) probe(worker);
      else if (unanswered === maximumUnanswered) onHanging(worker);
    }
  }

  answered(worker: W): void {
    this.#unanswered.delete(worker);
  }
}
