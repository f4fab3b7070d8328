import type { UserInfo } from "../api/user-info.ts";
import { RoundRobinQueue } from "./round-robin-queue.ts";
import { sharePath } from "./share-path.ts";
import type { SharePath } from "./share-path.ts";

/** How long a computation may block the event loop. */
const turnMilliseconds = 2;

/** The path for what the server computes for itself. No user has this name. */
const ownWork: SharePath = ["system", "system/"];

/** Computations that wait for their next turn. Users take turns. */
const waiting = new RoundRobinQueue<() => void>();
let waitingCount = 0;

/** Resumes one computation in each turn of the event loop: so a hundred computations delay requests no longer than one does. */
function giveTurn(): void {
  waitingCount--;
  waiting.take()?.item();
  // The resumed computation is not counted any more. It asks for its next turn itself, after the callbacks that it schedules in this one.
  if (waitingCount > 0) setImmediate(giveTurn);
}

function nextTurn(path: SharePath): Promise<void> {
  return new Promise((resolve) => {
    waiting.add(path, resolve);
    waitingCount++;
    if (waitingCount === 1) setImmediate(giveTurn);
  });
}

/**
 * Divides a long computation into turns, so that requests and timers run in between. Users take turns: a user with many computations
 * delays only these.
 */
export class LongWork {
  readonly #path: SharePath;
  #turnStartedAt = performance.now();
  /** The time that the computation itself has taken so far. */
  #busyMilliseconds = 0;

  /** Without a user: the server computes for itself. */
  constructor(user?: UserInfo) {
    this.#path = user === undefined ? ownWork : sharePath(user);
  }

  /** Call it after each small step. Undefined: continue; otherwise await the promise first. */
  pause(): Promise<void> | undefined {
    return performance.now() - this.#turnStartedAt < turnMilliseconds ? undefined : this.#wait();
  }

  /** Takes one item after the other, with pauses in between. */
  async each<T>(items: Iterable<T>, take: (item: T) => void): Promise<void> {
    for (const item of items) {
      take(item);
      const pause = this.pause();
      if (pause !== undefined) await pause;
    }
  }

  /** Runs the generator, which yields after each small step, with pauses in between. Resolves with its result. */
  async all<T>(work: Generator<undefined, T>): Promise<T> {
    for (;;) {
      const { done, value } = work.next();
      if (done === true) return value;
      const pause = this.pause();
      if (pause !== undefined) await pause;
    }
  }

  get busyMilliseconds(): number {
    return this.#busyMilliseconds + performance.now() - this.#turnStartedAt;
  }

  async #wait(): Promise<void> {
    this.#busyMilliseconds += performance.now() - this.#turnStartedAt;
    await nextTurn(this.#path);
    this.#turnStartedAt = performance.now();
  }
}
