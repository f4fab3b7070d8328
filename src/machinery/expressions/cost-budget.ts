/** An expression would do more work than it may. */
export class OverBudget extends Error {
  override readonly name = "OverBudget";

  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}

/**
 * The work that evaluations may still do, in steps: one for each part of an expression that is evaluated, and more for large
 * values. A million steps take about a tenth of a second.
 */
export class CostBudget {
  readonly #limit: number;
  #remaining: number;

  constructor(steps: number) {
    this.#limit = steps;
    this.#remaining = steps;
  }

  get spent(): number {
    return this.#limit - this.#remaining;
  }

  get isSpent(): boolean {
    return this.#remaining < 0;
  }

  spend(steps: number): void {
    this.#remaining -= steps;
    if (this.#remaining < 0) throw overBudget;
  }
}

/** One error for all: an expression can fail many times after it was stopped, and stack traces cost time. */
const overBudget = new OverBudget();

/** Evaluation is synchronous, so only one budget is spent at a time. Outside of an evaluation nothing is counted. */
let current: CostBudget | undefined;

export function withBudget<T>(budget: CostBudget, evaluate: () => T): T {
  const outer = current;
  current = budget;
  try {
    return evaluate();
  } finally {
    current = outer;
  }
}

/** Called by functions of expressions before they do work that is more than linear in their arguments. */
export const spendSteps = (steps: number): void => current?.spend(steps);
