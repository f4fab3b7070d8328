import type { TestContext } from "node:test";

/** Counts how often other code runs on the event loop, until `stop`. */
export function countTurns(): { readonly turns: () => number; readonly stop: () => void } {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  return { turns: () => turns, stop: () => clearImmediate(counting) };
}

/** The count of `countTurns`, until the test ends. */
export function turnsOfTest(context: TestContext): () => number {
  const { turns, stop } = countTurns();
  context.after(stop);
  return turns;
}

/** How often other code ran on the event loop during some work. */
export async function turnsDuring(work: () => unknown): Promise<number> {
  const { turns, stop } = countTurns();
  try {
    await work();
  } finally {
    stop();
  }
  return turns();
}

/** Lets each look at the monotonic clock take longer than a turn: then each request has one of its own, until `allInOneTurn`. */
export function takeTurnForEachLook(context: TestContext): { readonly allInOneTurn: () => void } {
  let milliseconds = performance.now();
  context.mock.method(performance, "now", () => (milliseconds += 10));
  return { allInOneTurn: () => (milliseconds = Infinity) };
}
