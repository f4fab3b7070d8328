/** Look-ups that one comparison of rules may take: about a tenth of a second. */
const maximumSteps = 1_500_000;

/** Ends a comparison that takes too much. */
export class TooMuchWork extends Error {}

/** Counts what a comparison looks at. */
export class ComparisonWork {
  #steps = 0;

  get steps(): number {
    return this.#steps;
  }

  /** Counts before the work is done. Throws TooMuchWork when the bound is reached. */
  spend(steps: number): void {
    if (this.#steps + steps > maximumSteps) throw new TooMuchWork();
    this.#steps += steps;
  }
}
