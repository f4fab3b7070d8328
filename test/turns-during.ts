/** How often others had their turn on the event loop while work went on. */
export async function turnsDuring(work: () => unknown): Promise<number> {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  try {
    await work();
  } finally {
    clearImmediate(counting);
  }
  return turns;
}
