import { isTurnOver } from "../../scheduling/request-turn.ts";
import type { Change } from "../store.ts";

/** When more than this waits, etcd is not read any more. */
const maximumWaitingBytes = 16 * 2 ** 20;

/** More changes that are delivered are not kept, also while others always wait. */
const maximumDelivered = 1000;

export interface PacedChangesOptions {
  /** Changes of one transaction stay together: those whose revisions give the same number. */
  readonly transactionOf: (revision: number) => number;
  /** Receives changes, and the revision up to which all changes are delivered then. */
  readonly deliver: (changes: readonly Change[], revision: number) => void;
  /** Stops what brings changes. */
  readonly pause: () => void;
  /** Continues it. */
  readonly resume: () => void;
  /** Whether deliveries that began then, by `performance.now()`, have taken long enough for one turn. */
  readonly isTurnOver?: (startedAt: number) => boolean;
}

/**
 * Delivers changes in turns of the event loop, so that those who receive them can pass them on in between: etcd sends up to a
 * thousand transactions at once, and each may be news for thousands of clients. Those of one transaction stay together.
 */
export class PacedChanges {
  readonly #options: Required<PacedChangesOptions>;
  #waiting: Change[] = [];
  /** The first in `#waiting` that is not delivered. */
  #next = 0;
  #waitingBytes = 0;
  #revision = 0;
  #isPaused = false;
  /** The end of the turn that deliveries have begun. */
  #immediate: NodeJS.Immediate | undefined;
  #turnStartedAt = 0;

  constructor(options: PacedChangesOptions) {
    this.#options = { isTurnOver, ...options };
  }

  /** Nothing else comes up to the revision, which may be higher than that of the last change. */
  add(changes: readonly Change[], revision: number): void {
    this.#revision = revision;
    for (const change of changes) {
      this.#waiting.push(change);
      this.#waitingBytes += lengthOf(change);
    }
    if (this.#waiting.length === 0) this.#options.deliver([], revision);
    this.#deliver();
  }

  /** Delivers nothing more. */
  end(): void {
    clearImmediate(this.#immediate);
    this.#waiting = [];
  }

  /** Delivers what waits, until the turn is over. */
  #deliver(): void {
    let isFirst = this.#immediate === undefined;
    while (this.#waiting.length > 0 && (isFirst || !this.#options.isTurnOver(this.#turnStartedAt))) {
      if (isFirst) this.#beginTurn();
      isFirst = false;
      const changes = this.#takeTransaction();
      const isAll = this.#waiting.length === 0;
      this.#options.deliver(changes, isAll ? this.#revision : (changes.at(-1)?.revision ?? 0));
    }
    this.#pace();
  }

  /** Begins a turn. The next turn delivers what is left. */
  #beginTurn(): void {
    this.#turnStartedAt = performance.now();
    this.#immediate = setImmediate(() => {
      this.#immediate = undefined;
      this.#deliver();
    });
  }

  #takeTransaction(): readonly Change[] {
    const from = this.#next;
    const { transactionOf } = this.#options;
    const transactionAt = (index: number): number => transactionOf(this.#waiting[index]?.revision ?? 0);
    let at = from + 1;
    while (at < this.#waiting.length && transactionAt(at) === transactionAt(from)) at++;
    const changes = this.#waiting.slice(from, at);
    this.#next = at;
    for (const change of changes) this.#waitingBytes -= lengthOf(change);
    if (at === this.#waiting.length || at >= maximumDelivered) {
      this.#waiting = this.#waiting.slice(at);
      this.#next = 0;
    }
    return changes;
  }

  #pace(): void {
    const isPaused = this.#waitingBytes > maximumWaitingBytes;
    if (isPaused && !this.#isPaused) this.#options.pause();
    if (!isPaused && this.#isPaused) this.#options.resume();
    this.#isPaused = isPaused;
  }
}

const lengthOf = ({ key, value }: Change): number => key.length + (value?.length ?? 0);
