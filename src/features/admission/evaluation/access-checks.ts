import type { Authorize, AuthorizationAttributes, Decision } from "../../../machinery/api/attributes.ts";

/** A question waits for its answer: the evaluation is done again when it is there. */
class Waiting extends Error {}

/**
 * What expressions ask authorizers about one write. Expressions are synchronous and authorizers may not be: a question
 * without an answer ends the evaluation, and is answered before the next.
 */
export class AccessChecks {
  readonly #authorize: Authorize;
  readonly #decisions = new Map<string, Decision>();
  #waiting: { readonly key: string; readonly decision: Promise<Decision> } | undefined;

  constructor(authorize: Authorize) {
    this.#authorize = authorize;
  }

  readonly check = (attributes: AuthorizationAttributes): Decision => {
    const key = JSON.stringify(attributes);
    const known = this.#decisions.get(key);
    if (known !== undefined) return known;
    if (this.#waiting !== undefined) throw new Waiting();
    const decision = this.#authorize(attributes);
    if (decision instanceof Promise) {
      this.#waiting = { key, decision };
      throw new Waiting();
    }
    this.#decisions.set(key, decision);
    return decision;
  };

  /** Evaluates until every question has its answer. Each round answers one, and their number is bounded by their cost. */
  async settled<T>(evaluate: () => T): Promise<T> {
    for (;;) {
      const result = evaluate();
      if (this.#waiting === undefined) return result;
      const { key, decision } = this.#waiting;
      this.#decisions.set(key, await decision);
      this.#waiting = undefined;
    }
  }
}
