import type { Authorize, AuthorizationAttributes, Decision } from "../../../machinery/api/attributes.ts";

/** Ends an evaluation that needs a pending decision. The evaluation is repeated once the decision is made. */
class DecisionPending extends Error {}

/**
 * The authorization checks of expressions for one write. Expressions are synchronous, but authorizers may not be: a check without a
 * decision ends the evaluation, and is decided before the next evaluation.
 */
export class AccessChecks {
  readonly #authorize: Authorize;
  readonly #decisions = new Map<string, Decision>();
  #pending: { readonly key: string; readonly decision: Promise<Decision> } | undefined;

  constructor(authorize: Authorize) {
    this.#authorize = authorize;
  }

  readonly check = (attributes: AuthorizationAttributes): Decision => {
    const key = JSON.stringify(attributes);
    const known = this.#decisions.get(key);
    if (known !== undefined) return known;
    if (this.#pending !== undefined) throw new DecisionPending();
    const decision = this.#authorize(attributes);
    if (decision instanceof Promise) {
      this.#pending = { key, decision };
      throw new DecisionPending();
    }
    this.#decisions.set(key, decision);
    return decision;
  };

  /**
   * Repeats the evaluation until every decision is made. Each round waits for one decision, and the cost of checks bounds the number of
   * rounds.
   */
  async evaluated<T>(evaluate: () => T): Promise<T> {
    for (;;) {
      const result = evaluate();
      if (this.#pending === undefined) return result;
      const { key, decision } = this.#pending;
      this.#decisions.set(key, await decision);
      this.#pending = undefined;
    }
  }
}
