interface Repetition {
  readonly times: number;
  /** How many calls are under way at once. */
  readonly concurrency: number;
}

/**
 * Calls `work` so many `times`, with the call's index and its lane, both from 0. There are `concurrency` lanes, and the calls of a
 * lane run one after the other. Rejects as soon as a call rejects.
 */
export async function repeatConcurrently(
  { times, concurrency }: Repetition,
  work: (index: number, lane: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const runLane = async (_: unknown, lane: number): Promise<void> => {
    while (next < times) await work(next++, lane);
  };
  await Promise.all(Array.from({ length: concurrency }, runLane));
}
