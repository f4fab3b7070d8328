/**
 * What one client did to one key, and what came of it. Every write has a value of its own. `revision` is the
 * resourceVersion that the answer told. `unknown`: no answer came, so that it may have happened at any time since, or never.
 */
export type Operation = Interval &
  (
    | { readonly action: "read"; readonly outcome: "found"; readonly value: string; readonly revision: number }
    | { readonly action: "read"; readonly outcome: "missing" }
    | { readonly action: "create"; readonly outcome: "done"; readonly value: string; readonly revision: number }
    | { readonly action: "create"; readonly outcome: "exists" | "unknown"; readonly value: string }
    | { readonly action: "update"; readonly outcome: "done"; readonly value: string; readonly revision: number }
    | { readonly action: "update"; readonly outcome: "missing" | "unknown"; readonly value: string }
    | (Conditional & { readonly outcome: "done"; readonly revision: number })
    | (Conditional & { readonly outcome: "conflict" | "missing" | "unknown" })
    | { readonly action: "delete"; readonly outcome: "done" | "missing" | "unknown" }
  );

interface Interval {
  /** When the request was sent and when its answer was there, of one clock; Infinity when none came. */
  readonly invokedAt: number;
  readonly returnedAt: number;
}

interface Conditional {
  readonly action: "update if";
  readonly value: string;
  /** The resourceVersion that the object must have. */
  readonly expectedRevision: number;
}

/** The value of the last write; undefined: there is no object. */
type State = string | undefined;

/** Enough for any history that has an order; a search that needs more is given up and reported. */
const maximumSteps = 2_000_000;

/**
 * Looks for an order of one key's operations that one object would have answered so, and in which none comes before
 * another that had ended when it began (Wing and Gong's search, with Lowe's memo). Returns undefined when there is one,
 * else what the search could not get past.
 */
export function linearizabilityFault(operations: readonly Operation[]): string | undefined {
  const revisions = new Map<string, number>();
  for (const operation of operations) {
    if (!("revision" in operation)) continue;
    const known = revisions.get(operation.value);
    if (known !== undefined && known !== operation.revision) {
      return `${operation.value} was told with the revisions ${known} and ${operation.revision}`;
    }
    revisions.set(operation.value, operation.revision);
  }
  const byInvocation = operations.toSorted((one, other) => one.invokedAt - other.invokedAt);
  // What was never answered may come anywhere later, and need not come at all.
  const answered = byInvocation.filter(({ outcome }) => outcome !== "unknown");
  const unanswered = byInvocation.filter(({ outcome }) => outcome === "unknown");
  return new Search(answered, unanswered, revisions).run();
}

/** A point of the search: which operations have been put in order, and what the object is then. */
interface Point {
  /** All answered operations before this one are in order. */
  readonly first: number;
  /** Those after it that are too, ascending. */
  readonly ahead: readonly number[];
  /** The unanswered ones that have been taken to have happened, ascending. */
  readonly taken: readonly number[];
  readonly state: State;
}

class Search {
  readonly #answered: readonly Operation[];
  readonly #unanswered: readonly Operation[];
  readonly #revisions: ReadonlyMap<string, number>;
  readonly #visited = new Set<string>();

  constructor(
    answered: readonly Operation[],
    unanswered: readonly Operation[],
    revisions: ReadonlyMap<string, number>,
  ) {
    this.#answered = answered;
    this.#unanswered = unanswered;
    this.#revisions = revisions;
  }

  run(): string | undefined {
    const stack: Point[] = [{ first: 0, ahead: [], taken: [], state: undefined }];
    let furthest = 0;
    for (let steps = 0; ; steps++) {
      const point = stack.pop();
      if (point === undefined) return `no order explains ${describe(this.#answered[furthest])}`;
      if (point.first === this.#answered.length) return undefined;
      if (steps === maximumSteps) return `no order was found that explains ${describe(this.#answered[furthest])}`;
      furthest = Math.max(furthest, point.first);
      // The last one pushed is looked at first: the likeliest come last.
      for (const next of this.#next(point)) {
        const key = `${next.first}|${next.ahead.join()}|${next.taken.join()}|${next.state ?? ""}`;
        if (this.#visited.has(key)) continue;
        this.#visited.add(key);
        stack.push(next);
      }
    }
  }

  /** Every point that one more operation leads to, the likeliest last. */
  #next(point: Point): Point[] {
    const { first, ahead, taken, state } = point;
    const candidates: number[] = [];
    let endsFirst = Infinity;
    for (let index = first; index < this.#answered.length; index++) {
      const operation = this.#answered[index];
      if (operation === undefined || operation.invokedAt > endsFirst) break;
      if (ahead.includes(index)) continue;
      candidates.push(index);
      endsFirst = Math.min(endsFirst, operation.returnedAt);
    }
    const found: Point[] = [];
    for (const [index, operation] of this.#unanswered.entries()) {
      if (operation.invokedAt > endsFirst || taken.includes(index)) continue;
      const next = this.#apply(operation, state);
      if (next === "impossible" || next.state === state) continue;
      found.push({ first, ahead, taken: ascending([...taken, index]), state: next.state });
    }
    for (const index of candidates.reverse()) {
      const operation = this.#answered[index];
      if (operation === undefined || operation.invokedAt > endsFirst) continue;
      const next = this.#apply(operation, state);
      if (next !== "impossible") found.push({ ...advanced({ first, ahead, index }), taken, state: next.state });
    }
    return found;
  }

  /** What an object that holds `state` would be after the operation, if it could have answered so. */
  #apply(operation: Operation, state: State): { readonly state: State } | "impossible" {
    const { action, outcome } = operation;
    const exists = state !== undefined;
    if (outcome === "missing") return exists ? "impossible" : { state };
    switch (action) {
      case "read":
        return state === operation.value ? { state } : "impossible";
      case "create":
        if (outcome === "exists") return exists ? { state } : "impossible";
        return exists ? "impossible" : { state: operation.value };
      case "update":
        return exists ? { state: operation.value } : "impossible";
      case "update if": {
        const isExpected = exists && this.#revisions.get(state) === operation.expectedRevision;
        if (outcome === "conflict") return exists && !isExpected ? { state } : "impossible";
        return isExpected ? { state: operation.value } : "impossible";
      }
      case "delete":
        return exists ? { state: undefined } : "impossible";
    }
  }
}

function advanced({
  first,
  ahead,
  index,
}: {
  readonly first: number;
  readonly ahead: readonly number[];
  readonly index: number;
}): Pick<Point, "first" | "ahead"> {
  if (index !== first) return { first, ahead: ascending([...ahead, index]) };
  let next = first + 1;
  while (ahead.includes(next)) next += 1;
  return { first: next, ahead: ahead.filter((other) => other > next) };
}

const ascending = (numbers: number[]): number[] => numbers.sort((one, other) => one - other);

const describe = (operation: Operation | undefined): string => JSON.stringify(operation);
