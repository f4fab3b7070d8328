import type { TestContext } from "node:test";
import { requestTurn } from "../../../src/machinery/scheduling/request-turn.ts";
import { turnsOfTest } from "../../turns-during.ts";

interface TurnsOfRequests {
  /** In how many turns of the event loop three requests are given theirs. */
  ofThree(): Promise<number>;
  /** Lets a request take all the time of a turn. */
  useUp(): Promise<void>;
  pass(milliseconds: number): void;
}

/** The turns of requests, by a monotonic clock that stands still until the test moves it. */
export function turnsOfRequests(context: TestContext): TurnsOfRequests {
  let now = performance.now() + 1000;
  context.mock.method(performance, "now", () => now);
  const turnsSoFar = turnsOfTest(context);
  const turn = (): Promise<void> => requestTurn({ username: "alice", groups: [], extra: {} });
  const pass = (milliseconds: number): void => void (now += milliseconds);
  return {
    async ofThree() {
      const turns = await Promise.all([1, 2, 3].map(() => turn().then(turnsSoFar)));
      return new Set(turns).size;
    },
    useUp: () => turn().then(() => pass(5)),
    pass,
  };
}
