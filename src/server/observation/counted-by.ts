import { Counter } from "prom-client";
import type { Registry } from "prom-client";
import type { Tally } from "./tallies.ts";

/** Adds counters to the metrics that show a tally. */
export const countedBy =
  (registry: Registry) =>
  <Label extends string>(name: string, labelNames: readonly Label[], help: string, tally: Tally<Label>): void => {
    const added: Counter<Label> = new Counter<Label>({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect() {
        added.reset();
        for (const { labels, count } of tally.values()) added.inc(labels, count);
      },
    });
  };
