import { countersOf, mergeMetrics } from "../../machinery/http/metrics/merge-metrics.ts";
import { waitAtMost } from "../../machinery/scheduling/wait-at-most.ts";

/** What a worker told before stands for one that does not answer in this time. */
export const answerMilliseconds = 2_000;

interface Collection {
  missing: number;
  finish(): void;
}

/** A worker that wants the metrics of the others, and its own. */
interface AskingWorker<W> {
  readonly asking: W;
  readonly text: string;
}

/**
 * For the process that started the workers: asks several of them for their metrics, and waits for the answers. What was counted once
 * stays: Prometheus takes a counter that falls for a restart, and would count all of it again when it rises.
 */
export class MetricsExchange<W extends object> {
  readonly #ask: (worker: W, id: number) => void;
  readonly #running = new Map<number, Collection>();
  /** What each worker told last. */
  readonly #known = new Map<W, string>();
  /** Their last messages may come after their end. */
  readonly #ended = new WeakSet<W>();
  /** What those counted that have ended: one text, or none. */
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

  /** The worker's process has ended. */
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
