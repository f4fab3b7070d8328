/** How long a computation may keep everything else waiting. */
const turnMilliseconds = 2;

/** Computations that wait for their next turn, in order. */
const waiting: (() => void)[] = [];

/** One in each turn of the event loop: a hundred computations keep requests waiting no longer than one. */
function giveTurn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(giveTurn);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(giveTurn);
  });
}

/** Divides a long computation into turns, so that requests and timers come in between. */
export class LongWork {
  #turnStartedAt = performance.now();
  /** The time that the computation itself has taken so far. */
  #busyMilliseconds = 0;

  /** Call it after each small step. Undefined: continue; otherwise await the promise first. */
  pause(): Promise<void> | undefined {
    return performance.now() - this.#turnStartedAt < turnMilliseconds ? undefined : this.#wait();
  }

  get busyMilliseconds(): number {
    return this.#busyMilliseconds + performance.now() - this.#turnStartedAt;
  }

  async #wait(): Promise<void> {
    this.#busyMilliseconds += performance.now() - this.#turnStartedAt;
    await nextTurn();
    this.#turnStartedAt = performance.now();
  }
}
