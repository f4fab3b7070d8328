import type { TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { MaybePromise } from "../../../src/machinery/api/maybe-promise.ts";
import { requestTurn } from "../../../src/machinery/scheduling/request-turn.ts";
import { countTurns } from "../../turns-during.ts";

/**
 * Does the work of a request that has its turn. Each step takes as long as a turn. `turns`: how many turns of the event loop others had
 * meanwhile.
 */
export async function turnsDuringRequest<T>(
  context: TestContext,
  work: () => MaybePromise<T>,
): Promise<{ readonly result: T; readonly turns: number }> {
  await nextTurn(); // the turns of other tests end
  let milliseconds = 0;
  context.mock.method(performance, "now", () => (milliseconds += 10));
  await requestTurn({ username: "alice", groups: [], extra: {} });
  const { turns, stop } = countTurns();
  try {
    const result = await work();
    return { result, turns: turns() };
  } finally {
    stop();
  }
}
