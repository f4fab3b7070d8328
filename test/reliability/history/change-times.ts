import type { Interval, Operation } from "./operation.ts";

/** A change that would have had to happen later than it can have. */
export interface Contradiction {
  readonly change: number;
  /**
   * The operation that cannot have been sent this late, and the one that cannot have ended this early, when one is the
   * cause.
   */
  readonly notBefore: Operation | undefined;
  readonly notAfter: Operation | undefined;
}

/** Both included; empty when the last comes before the first. */
export interface StateRange {
  readonly first: number;
  readonly last: number;
}

interface Bound {
  readonly time: number;
  readonly by: Operation | undefined;
}

const always: Bound = { time: -Infinity, by: undefined };
const never: Bound = { time: Infinity, by: undefined };

/**
 * Between which times the changes 1 to n of one log happened, one after the other. State k is there from change k to
 * change k + 1; state 0 was always there, state n stays. Mutable; bounds only become narrower.
 */
export class ChangeTimes {
  readonly #earliest: Bound[];
  readonly #latest: Bound[];

  private constructor(earliest: Bound[], latest: Bound[]) {
    this.#earliest = earliest;
    this.#latest = latest;
  }

  static of(changes: number): ChangeTimes {
    const between = (bound: Bound) => Array.from({ length: changes }, () => bound);
    return new ChangeTimes([always, ...between(always), never], [always, ...between(never), never]);
  }

  copy(): ChangeTimes {
    return new ChangeTimes([...this.#earliest], [...this.#latest]);
  }

  happenedNotBefore(change: number, time: number, by?: Operation): void {
    if (time > this.earliest(change)) this.#earliest[change] = { time, by };
  }

  happenedNotAfter(change: number, time: number, by?: Operation): void {
    if (time < this.latest(change)) this.#latest[change] = { time, by };
  }

  /** A change was made by an operation, hence while it ran. */
  madeBy(change: number, operation: Operation): void {
    this.happenedNotBefore(change, operation.invokedAt, operation);
    this.happenedNotAfter(change, operation.returnedAt, operation);
  }

  /** An operation saw a state, hence that state was there at some time while it ran. */
  seenBy(state: number, operation: Operation): void {
    this.happenedNotAfter(state, operation.returnedAt, operation);
    this.happenedNotBefore(state + 1, operation.invokedAt, operation);
  }

  /** Propagates every bound to the changes before and after. The times are possible if there is no contradiction. */
  settle(): Contradiction | undefined {
    const [earliest, latest] = [this.#earliest, this.#latest];
    for (let change = 1; change < earliest.length; change++) {
      if (this.earliest(change) < this.earliest(change - 1)) earliest[change] = earliest[change - 1] ?? always;
    }
    for (let change = latest.length - 2; change >= 0; change--) {
      if (this.latest(change) > this.latest(change + 1)) latest[change] = latest[change + 1] ?? never;
    }
    for (let change = 1; change < earliest.length - 1; change++) {
      if (this.earliest(change) <= this.latest(change)) continue;
      return { change, notBefore: earliest[change]?.by, notAfter: latest[change]?.by };
    }
    return undefined;
  }

  /** The first and the last state that are possible within an interval. The bounds must be settled. */
  statesWithin(interval: Interval): StateRange {
    return this.#statesWithin(interval, (change) => this.latest(change));
  }

  /** The same, assuming that every change happened as early as possible. */
  statesWithinAtEarliest(interval: Interval): StateRange {
    return this.#statesWithin(interval, (change) => this.earliest(change));
  }

  #statesWithin({ invokedAt, returnedAt }: Interval, endOf: (change: number) => number): StateRange {
    const states = this.#earliest.length - 1;
    return {
      first: firstWhere(states, (state) => endOf(state + 1) >= invokedAt),
      last: firstWhere(states, (state) => this.earliest(state) > returnedAt) - 1,
    };
  }

  earliest(change: number): number {
    return this.#earliest[change]?.time ?? Infinity;
  }

  latest(change: number): number {
    return this.#latest[change]?.time ?? Infinity;
  }
}

/** The first of the numbers 0 to count - 1 from which on a condition always holds; count if there is none. */
function firstWhere(count: number, holds: (number: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
