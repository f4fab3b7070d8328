import { exemplarText } from "./exemplar.ts";
import type { Exemplar } from "./exemplar.ts";

/** Counts durations in plain numbers, so that counting a duration costs no more than a search through the bounds. */
export class DurationHistogram {
  /** Upper bounds in seconds, ascending. */
  readonly #bounds: readonly number[];
  /** How many durations are in each bucket alone; the last one has no bound. */
  readonly #counts: number[];
  /** The newest exemplar of each bucket. Undefined: no request was exported as a trace. */
  #exemplars: (Exemplar | undefined)[] | undefined;
  #sumSeconds = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = [...bounds.map(() => 0), 0];
  }

  observe(seconds: number, traceId?: string): void {
    this.#sumSeconds += seconds;
    this.#count++;
    let bucket = 0;
    while (seconds > (this.#bounds[bucket] ?? Infinity)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    if (traceId === undefined) return;
    this.#exemplars ??= [];
    this.#exemplars[bucket] = { traceId, seconds, at: Date.now() };
  }

  /** The samples in Prometheus' text format, with exemplars. */
  lines(name: string, labels: Readonly<Record<string, string>>): string[] {
    const words = Object.entries(labels)
      .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
      .join(",");
    const exemplar = (bucket: number): string => {
      const one = this.#exemplars?.[bucket];
      return one === undefined ? "" : exemplarText(one);
    };
    let below = 0;
    const lines = this.#bounds.map((bound, index) => {
      below += this.#counts[index] ?? 0;
      return `${name}_bucket{${words},le="${bound}"} ${below}${exemplar(index)}`;
    });
    return [
      ...lines,
      `${name}_bucket{${words},le="+Inf"} ${this.#count}${exemplar(this.#bounds.length)}`,
      `${name}_sum{${words}} ${this.#sumSeconds}`,
      `${name}_count{${words}} ${this.#count}`,
    ];
  }
}
