/** Counts by the values of labels. The values are few, whatever callers send: who counts sees to that. */
export class Tally<Label extends string> {
  readonly #counts = new Map<string, { readonly labels: Readonly<Record<Label, string>>; count: number }>();

  add(labels: Readonly<Record<Label, string>>): void {
    const key = JSON.stringify(Object.values(labels));
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
  issued: new Tally(),
  failed: new Tally(),
  denied: new Tally(),
  tokensIssued: new Tally(),
  tokenReviews: new Tally(),
  authentications: new Tally(),
});
