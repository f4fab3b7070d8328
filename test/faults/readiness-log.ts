import { setTimeout as delay } from "node:timers/promises";
import type { Replica } from "./replica.ts";

interface Observation {
  /** `performance.now()` when the answer came. */
  readonly at: number;
  readonly isReady: boolean;
}

const intervalMilliseconds = 100;

/** Asks replicas again and again whether they are ready. */
export class ReadinessLog {
  readonly #observations = new Map<string, Observation[]>();
  readonly #stopping = new AbortController();
  readonly #asking: Promise<unknown>;

  constructor(replicas: readonly Replica[]) {
    this.#asking = Promise.all(replicas.map((replica) => this.#ask(replica)));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#asking;
  }

  /** What a replica answered in a span of time. */
  answers(replica: Replica, span: { readonly from: number; readonly to: number }): boolean[] {
    return (this.#observations.get(replica.name) ?? [])
      .filter(({ at }) => at >= span.from && at <= span.to)
      .map(({ isReady }) => isReady);
  }

  async #ask(replica: Replica): Promise<void> {
    const observations: Observation[] = [];
    this.#observations.set(replica.name, observations);
    while (!this.#stopping.signal.aborted) {
      const isReady = await replica.isReady();
      observations.push({ at: performance.now(), isReady });
      await delay(intervalMilliseconds);
    }
  }
}
