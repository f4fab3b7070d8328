import type { Registry } from "prom-client";
import { addCollectedMetric } from "../../machinery/http/collected-metric.ts";
import type { Sample } from "../../machinery/http/collected-metric.ts";

/** Counts by the values of labels. Callers of `add` must bound the number of different values: none may come from a request. */
export class Tally<Label extends string> {
  readonly labelNames: readonly Label[];
  readonly #counts = new Map<string, { readonly labels: Readonly<Record<Label, string>>; count: number }>();

  /** Every label, in any order: `new Tally<"method">()` does not compile. */
  constructor(...names: [Label] extends [never] ? [] : [Label, ...Label[]]) {
    this.labelNames = names;
  }

  add(labels: Readonly<Record<Label, string>>): void {
    let key = "";
    for (const name of this.labelNames) key += `${labels[name]}\n`;
    const counted = this.#counts.get(key);
    if (counted === undefined) this.#counts.set(key, { labels, count: 1 });
    else counted.count += 1;
  }

  *samples(): Generator<Sample<Label>> {
    for (const { labels, count } of this.#counts.values()) yield [labels, count];
  }
}

/** What a server has done since it began, for its metrics. */
export interface Tallies {
  readonly issued: Tally<"signer">;
  readonly failed: Tally<"signer">;
  readonly denied: Tally<"signer">;
  readonly tokensIssued: Tally<never>;
  readonly tokenReviews: Tally<"outcome">;
  readonly authentications: Tally<"method" | "outcome">;
  readonly exceededQuotas: Tally<never>;
}

export const newTallies = (): Tallies => ({
  issued: new Tally("signer"),
  failed: new Tally("signer"),
  denied: new Tally("signer"),
  tokensIssued: new Tally(),
  tokenReviews: new Tally("outcome"),
  authentications: new Tally("method", "outcome"),
  exceededQuotas: new Tally(),
});

export interface TallyCounter<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly tally: Tally<Label>;
}

/** Adds a counter to the metrics that shows a tally. */
export const addTallyCounter = <Label extends string>(
  registry: Registry,
  { name, help, tally }: TallyCounter<Label>,
): void =>
  addCollectedMetric(registry, {
    type: "counter",
    name,
    help,
    labelNames: tally.labelNames,
    read: () => tally.samples(),
  });
