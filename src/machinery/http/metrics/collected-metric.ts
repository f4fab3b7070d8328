import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { MaybePromise } from "../../api/maybe-promise.ts";

/** A value of a metric. Values with the same labels are added up. */
export type Sample<Label extends string> = readonly [labels: Readonly<Record<Label, string>>, value: number];

type Samples<Label extends string> = Iterable<Sample<Label>>;

export interface CollectedMetric<Label extends string> {
  readonly type: "counter" | "gauge";
  readonly name: string;
  readonly help: string;
  /** Default: none. */
  readonly labelNames?: readonly Label[];
  /** When several processes are one server, whether the largest or the smallest of their values is shown. Default: the sum. */
  readonly aggregator?: "max" | "min";
  /** All values now. Called for each scrape. A gauge does not show labels that are left out. */
  readonly read: () => MaybePromise<Samples<Label>>;
}

/** Adds a metric whose values are read at each scrape, from counts that are kept elsewhere. */
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
      // A reset sets a metric without labels to 0, but an unknown value must not be shown as 0.
      if (type === "gauge" && labelNames.length === 0 && samples.length === 0) metric.remove();
      for (const [labels, value] of samples) metric.inc(labels, value);
    },
  });
}

/** The sample of a metric without labels. Undefined: there is none now. */
export const onlySample = (value: number | undefined): readonly Sample<never>[] =>
  value === undefined ? [] : [[{}, value]];
