import { ChangeTimes } from "./change-times.ts";
import type { Contradiction, StateRange } from "./change-times.ts";
import { LogWriters } from "./log-writers.ts";
import type { Operation } from "./operation.ts";
import type { FollowedEvent } from "../watch-follower.ts";

export type Verdict =
  | { readonly type: "explained" }
  | { readonly type: "violation"; readonly fault: string }
  | { readonly type: "undecided"; readonly reason: string };

export interface CheckOptions {
  /** Every change of the key, from before the first operation to after the last. */
  readonly log: readonly FollowedEvent[];
  readonly maximumGuesses?: number;
}

/** Far more than any history of a run has needed. */
const defaultMaximumGuesses = 5_000;

/**
 * Whether the operations on one key are linearizable in the order in which a watch delivered all changes of that key.
 * Each write must be one of the changes. The changes must have times such that each lies within the operation that made
 * it, and each answer was true at some time while its operation ran. The order is known, so the times follow from
 * bounds alone, except where an answer fits several states (`missing`, `exists`, `conflict`). Only these are guessed,
 * when the earliest times do not work; after `maximumGuesses` the check gives up. An operation of unknown outcome is
 * one of the changes, at any time after it was sent, or never happened.
 */
export function checkAgainstLog(
  operations: readonly Operation[],
  { log, maximumGuesses = defaultMaximumGuesses }: CheckOptions,
): Verdict {
  const times = ChangeTimes.of(log.length);
  const fault = new LogWriters(log).place(operations, times) ?? placeReads(operations, { log, times });
  if (fault !== undefined) return { type: "violation", fault };
  const contradiction = times.settle();
  if (contradiction !== undefined) return { type: "violation", fault: describeContradiction(contradiction, log) };
  return new Guesses(operations.filter(isSatisfiedByMany), { log, maximumGuesses }).run(times);
}

function placeReads(
  operations: readonly Operation[],
  { log, times }: { readonly log: readonly FollowedEvent[]; readonly times: ChangeTimes },
): string | undefined {
  const stateOf = new Map<number, number>();
  for (const [index, { type, revision }] of log.entries()) if (type !== "DELETED") stateOf.set(revision, index + 1);
  for (const operation of operations) {
    if (operation.outcome !== "found") continue;
    const state = stateOf.get(operation.revision);
    if (state === undefined) return `no watch told of what was seen by ${describe(operation)}`;
    if (log[state - 1]?.value !== operation.value) {
      return `the watch told ${describe(log[state - 1])}, otherwise than ${describe(operation)}`;
    }
    times.seenBy(state, operation);
  }
  return undefined;
}

/** Answers that fit several states of the object. */
type Ambiguous = Operation & { readonly outcome: "missing" | "exists" | "conflict" };

const isSatisfiedByMany = (operation: Operation): operation is Ambiguous =>
  operation.outcome === "missing" || operation.outcome === "exists" || operation.outcome === "conflict";

class Guesses {
  readonly #operations: readonly Ambiguous[];
  readonly #log: readonly FollowedEvent[];
  #left: number;

  constructor(
    operations: readonly Ambiguous[],
    { log, maximumGuesses }: { readonly log: readonly FollowedEvent[]; readonly maximumGuesses: number },
  ) {
    this.#operations = operations;
    this.#log = log;
    this.#left = maximumGuesses;
  }

  /** `times` must be settled; this narrows them. */
  run(times: ChangeTimes): Verdict {
    const narrowed = this.#narrow(times);
    if (narrowed !== undefined) return { type: "violation", fault: narrowed };
    const open = this.#operations.find((operation) => {
      return this.#fitting(operation, { ...times.statesWithinAtEarliest(operation), atMost: 1 }).length === 0;
    });
    if (open === undefined) return { type: "explained" };
    for (const state of this.#fitting(open, times.statesWithin(open))) {
      if (this.#left-- === 0) return { type: "undecided", reason: `too many guesses for ${describe(open)}` };
      const guessed = times.copy();
      guessed.seenBy(state, open);
      if (guessed.settle() !== undefined) continue;
      const verdict = this.run(guessed);
      if (verdict.type !== "violation") return verdict;
    }
    return { type: "violation", fault: `no times of the changes explain ${describe(open)}` };
  }

  /** An answer that fits only one state has seen that state. Repeats until nothing more follows. */
  #narrow(times: ChangeTimes): string | undefined {
    const certain = new Set<Ambiguous>();
    for (;;) {
      const before = certain.size;
      for (const operation of this.#operations) {
        if (certain.has(operation)) continue;
        const [state, another] = this.#fitting(operation, { ...times.statesWithin(operation), atMost: 2 });
        if (state === undefined) return this.#describeMisfit(operation, times);
        if (another !== undefined) continue;
        certain.add(operation);
        times.seenBy(state, operation);
      }
      const contradiction = times.settle();
      if (contradiction !== undefined) return describeContradiction(contradiction, this.#log);
      if (certain.size === before) return undefined;
    }
  }

  /** The states that an answer fits, at most the given number. */
  #fitting(
    operation: Ambiguous,
    { first, last, atMost = Infinity }: StateRange & { readonly atMost?: number },
  ): number[] {
    const found: number[] = [];
    for (let state = first; state <= last && found.length < atMost; state++) {
      if (isTrueOf(operation, this.#log[state - 1])) found.push(state);
    }
    return found;
  }

  #describeMisfit(operation: Ambiguous, times: ChangeTimes): string {
    const { first, last } = times.statesWithin(operation);
    const states = this.#log.slice(Math.max(first - 1, 0), last).map((event) => `${event.type} ${event.revision}`);
    return `none of the states while it ran (${states.join(", ") || "never created"}) explains ${describe(operation)}`;
  }
}

/** Whether an answer is true for the state after a change. Undefined: the state before all changes. */
function isTrueOf(operation: Ambiguous, change: FollowedEvent | undefined): boolean {
  const revision = change === undefined || change.type === "DELETED" ? undefined : change.revision;
  if (operation.outcome === "missing") return revision === undefined;
  if (revision === undefined) return false;
  return operation.outcome === "exists" || revision !== operation.expectedRevision;
}

function describeContradiction({ change, notBefore, notAfter }: Contradiction, log: readonly FollowedEvent[]): string {
  const blamed = [notBefore, notAfter].flatMap((operation) => (operation === undefined ? [] : [describe(operation)]));
  return `no time of ${describe(log[change - 1])} explains ${blamed.join(" after ")}`;
}

const describe = (seen: Operation | FollowedEvent | undefined): string => JSON.stringify(seen);
