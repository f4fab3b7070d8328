import type { Authorize, AuthorizationAttributes, Decision } from "../../../machinery/api/attributes.ts";

/** Ends an evaluation that needs a decision which is not made yet. It is repeated once the decision is there. */
class DecisionPending extends Error {}

/**
 * What expressions ask authorizers about one write. Expressions are synchronous and authorizers may not be: a question
 * without an answer ends the evaluation, and is answered before the next.
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

  /** Repeats the evaluation until every decision is there. Each round makes one, and their cost bounds their number. */
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
