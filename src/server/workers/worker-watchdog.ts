export interface WorkerWatchdogOptions<W> {
  /** Asks a worker for a sign of life, which `answered` reports. */
  readonly probe: (worker: W) => void;
  /** Called once for a worker that hangs. */
  readonly onHanging: (worker: W) => void;
}

/** How often the workers are asked. */
export const probeMilliseconds = 5_000;
/** A worker that answers none of so many probes in a row hangs: half a minute, as supervisors of workers usually wait. */
const maximumUnanswered = 6;

/**
 * Finds workers that hang: they neither answer nor end, and the kernel goes on giving them connections. It counts probes and measures no
 * time, so a machine that slept does not make its workers look as if they hang.
 */
export class WorkerWatchdog<W extends object> {
  readonly #options: WorkerWatchdogOptions<W>;
  /** Probes since the last answer. */
  readonly #unanswered = new WeakMap<W, number>();

  constructor(options: WorkerWatchdogOptions<W>) {
    this.#options = options;
  }

  /** Call it every `probeMilliseconds`, with the workers that serve. */
  look(workers: Iterable<W>): void {
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
