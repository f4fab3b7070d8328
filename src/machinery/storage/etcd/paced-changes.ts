import { isTurnOver } from "../../scheduling/request-turn.ts";
import type { Change } from "../store.ts";

/** When changes of more bytes than this wait, the reading from etcd pauses. */
const maximumWaitingBytes = 16 * 2 ** 20;

/** After so many delivered changes, the array is shortened, even if changes always wait. */
const maximumDelivered = 1000;

export interface PacedChangesOptions {
  /** Returns the number of the transaction that a revision belongs to. Changes of one transaction are delivered together. */
  readonly transactionOf: (revision: number) => number;
  /** Receives changes, and the revision up to which all changes are then delivered. */
  readonly deliver: (changes: readonly Change[], revision: number) => void;
  /** Pauses the source of the changes. */
  readonly pause: () => void;
  /** Continues the source. */
  readonly resume: () => void;
  /** Whether deliveries that began at `startedAt` (of `performance.now()`) have taken long enough for one turn. */
  readonly isTurnOver?: (startedAt: number) => boolean;
}

/**
 * Delivers changes in turns of the event loop, so that the receivers can pass them on in between: etcd sends up to a thousand
 * transactions at once, and each may concern thousands of clients. The changes of one transaction are delivered together.
 */
export class PacedChanges {
  readonly #options: Required<PacedChangesOptions>;
  #waiting: Change[] = [];
  /** The index of the first change in `#waiting` that is not delivered. */
  #next = 0;
  #waitingBytes = 0;
  #revision = 0;
  #isPaused = false;
  /** Ends the current turn of deliveries. Undefined: no turn has begun. */
  #immediate: NodeJS.Immediate | undefined;
  #turnStartedAt = 0;

  constructor(options: PacedChangesOptions) {
    this.#options = { isTurnOver, ...options };
  }

  /** Adds all changes up to a revision, which may be higher than the last change's revision. */
  add(changes: readonly Change[], revision: number): void {
    this.#revision = revision;
    for (const change of changes) {
      this.#waiting.push(change);
      this.#waitingBytes += lengthOf(change);
    }
    if (this.#waiting.length === 0) this.#options.deliver([], revision);
    this.#deliver();
  }

  /** Drops the waiting changes. */
  end(): void {
    clearImmediate(this.#immediate);
    this.#waiting = [];
  }

  /** Delivers the waiting changes, until the turn is over. */
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

  /** Begins a turn. The next turn delivers the remaining changes. */
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
