/** The most look-ups of one comparison of rules: about a tenth of a second, in turns of the event loop. */
const maximumSteps = 1_500_000;

/** Stops a comparison that takes too much work. */
export class TooMuchWork extends Error {}

/** Counts the look-ups of a comparison of rules. */
export class ComparisonWork {
  #steps = 0;

  get steps(): number {
    return this.#steps;
  }

  /** Call it before the work. Throws TooMuchWork when the limit is reached. */
  spend(steps: number): void {
    if (this.#steps + steps > maximumSteps) throw new TooMuchWork();
    this.#steps += steps;
  }
}
