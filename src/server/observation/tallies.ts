import { Counter } from "prom-client";
import type { Registry } from "prom-client";

/** Counts by the values of labels. Callers of `add` must bound the number of different values: none may come from a request. */
export class Tally<Label extends string> {
  readonly #names: readonly Label[];
  readonly #counts = new Map<string, { readonly labels: Readonly<Record<Label, string>>; count: number }>();

  /** Every label, in any order: `new Tally<"method">()` does not compile. */
  constructor(...names: [Label] extends [never] ? [] : [Label, ...Label[]]) {
    this.#names = names;
  }

  add(labels: Readonly<Record<Label, string>>): void {
    let key = "";
    for (const name of this.#names) key += `${labels[name]}\n`;
    const counted = this.#counts.get(key);
    if (counted === undefined) this.#counts.set(key, { labels, count: 1 });
    else counted.count += 1;
  }

  values(): Iterable<{ readonly labels: Readonly<Record<Label, string>>; readonly count: number }> {
    return this.#counts.values();
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
}

export const newTallies = (): Tallies => ({
  issued: new Tally("signer"),
  failed: new Tally("signer"),
  denied: new Tally("signer"),
  tokensIssued: new Tally(),
  tokenReviews: new Tally("outcome"),
  authentications: new Tally("method", "outcome"),
});

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
