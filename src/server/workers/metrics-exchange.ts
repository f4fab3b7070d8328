import type { Worker } from "node:cluster";
import { waitAtMost } from "../../machinery/scheduling/wait-at-most.ts";

/** A worker that does not answer in this time is left out: the next look has it again. */
export const answerMilliseconds = 2_000;

interface Collection {
  readonly texts: string[];
  missing: number;
  finish(): void;
}

/** For the process that started the workers: asks several of them for their metrics, and waits for the answers. */
export class MetricsExchange {
  readonly #ask: (worker: Worker, id: number) => void;
  readonly #running = new Map<number, Collection>();
  #nextId = 1;

  constructor(ask: (worker: Worker, id: number) => void) {
    this.#ask = ask;
  }

  /** The metrics of those that answer in time. */
  async collect(workers: readonly Worker[]): Promise<readonly string[]> {
    if (workers.length === 0) return [];
    const id = this.#nextId++;
    const { promise, resolve } = Promise.withResolvers<void>();
    const collection: Collection = { texts: [], missing: workers.length, finish: resolve };
    this.#running.set(id, collection);
    for (const worker of workers) this.#ask(worker, id);
    await waitAtMost(answerMilliseconds, promise);
    this.#running.delete(id);
    return collection.texts;
  }

  answered({ id, text }: { readonly id: number; readonly text: string }): void {
    const collection = this.#running.get(id);
    if (collection === undefined) return;
    collection.texts.push(text);
    collection.missing -= 1;
    if (collection.missing === 0) collection.finish();
  }
}
