/** Counts how often others have their turn on the event loop, until `stop`. */
export function countTurns(): { readonly turns: () => number; readonly stop: () => void } {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  return { turns: () => turns, stop: () => clearImmediate(counting) };
}

/** How often others had their turn on the event loop while work went on. */
export async function turnsDuring(work: () => unknown): Promise<number> {
  const { turns, stop } = countTurns();
  try {
    await work();
  } finally {
    stop();
  }
  return turns();
}
