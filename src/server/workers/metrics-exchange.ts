import { countersOf, mergeMetrics } from "../../machinery/http/metrics/merge-metrics.ts";
import { waitAtMost } from "../../machinery/scheduling/wait-at-most.ts";

/** After this time without an answer, a worker's previous metrics are used. */
export const answerMilliseconds = 2_000;

interface Collection {
  missing: number;
  finish(): void;
}

/** A worker that needs the metrics of the others, with its own metrics. */
interface AskingWorker<W> {
  readonly asking: W;
  readonly text: string;
}

/**
 * Asks several workers for their metrics and waits for the answers, in the process that started the workers. The counts of workers that
 * have ended are kept: Prometheus takes a falling counter for a restart, and would count everything again when it rises.
 */
export class MetricsExchange<W extends object> {
  readonly #ask: (worker: W, id: number) => void;
  readonly #running = new Map<number, Collection>();
  /** The last metrics of each worker. */
  readonly #known = new Map<W, string>();
  /** The last message of a worker may arrive after its end, and is then ignored. */
  readonly #ended = new WeakSet<W>();
  /** The sum of the counters of workers that have ended: one text, or none. */
  #countedBefore: readonly string[] = [];
  #nextId = 1;

  constructor(ask: (worker: W, id: number) => void) {
    this.#ask = ask;
  }

  /** The last metrics of each worker, and the counts of workers that have ended. */
  async collect(workers: readonly W[], { asking, text }: AskingWorker<W>): Promise<readonly string[]> {
    this.#know(asking, text);
    if (workers.length > 0) {
      const id = this.#nextId++;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#running.set(id, { missing: workers.length, finish: resolve });
      for (const worker of workers) this.#ask(worker, id);
      await waitAtMost(answerMilliseconds, promise);
      this.#running.delete(id);
    }
    const others = [...this.#known].filter(([worker]) => worker !== asking);
    return [...others.map(([, known]) => known), ...this.#countedBefore];
  }

  answered(worker: W, { id, text }: { readonly id: number; readonly text: string }): void {
    this.#know(worker, text);
    const collection = this.#running.get(id);
    if (collection === undefined) return;
    collection.missing -= 1;
    if (collection.missing === 0) collection.finish();
  }

  /** Says that the worker's process has ended. */
  ended(worker: W): void {
    const text = this.#known.get(worker);
    this.#known.delete(worker);
    this.#ended.add(worker);
    if (text !== undefined) this.#countedBefore = [mergeMetrics([...this.#countedBefore, countersOf(text)])];
  }

  #know(worker: W, text: string): void {
    if (!this.#ended.has(worker)) this.#known.set(worker, text);
  }
}
