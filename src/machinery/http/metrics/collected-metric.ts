import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";

/** A value of a metric. Those with the same labels are added up. */
export type Sample<Label extends string> = readonly [labels: Readonly<Record<Label, string>>, value: number];

type Samples<Label extends string> = Iterable<Sample<Label>>;

export interface CollectedMetric<Label extends string> {
  readonly type: "counter" | "gauge";
  readonly name: string;
  readonly help: string;
  /** Default: none. */
  readonly labelNames?: readonly Label[];
  /** Where several processes are one server: the largest or the smallest of their values is shown. Default: the sum. */
  readonly aggregator?: "max" | "min";
  /** All values now. Called for each scrape. A gauge does not show what is left out. */
  readonly read: () => Samples<Label> | Promise<Samples<Label>>;
}

/** Adds a metric whose values are read when it is scraped: what they are made of is counted elsewhere. */
export function addCollectedMetric<Label extends string = never>(
  registry: Registry,
  { type, name, help, labelNames = [], aggregator, read }: CollectedMetric<Label>,
): void {
  const Type = type === "gauge" ? Gauge<Label> : Counter<Label>;
  const metric: Counter<Label> | Gauge<Label> = new Type({
    name,
    help,
    labelNames,
    ...(aggregator !== undefined && { aggregator }),
    registers: [registry],
    async collect() {
      const samples = [...(await read())];
      metric.reset();
      // Without labels, a reset is a 0: an unknown value must not look like that.
      if (type === "gauge" && labelNames.length === 0 && samples.length === 0) metric.remove();
      for (const [labels, value] of samples) metric.inc(labels, value);
    },
  });
}

/** The sample of a metric without labels. Undefined: there is none now. */
export const onlySample = (value: number | undefined): readonly Sample<never>[] =>
  value === undefined ? [] : [[{}, value]];
