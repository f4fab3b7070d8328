import { catchUpBounds } from "../log-watches.ts";
import type { Change } from "../store.ts";

/** When more than this waits, etcd is not read any more. */
const maximumWaitingBytes = 16 * 2 ** 20;

export interface PacedChangesOptions {
  /** Receives changes, and the revision up to which all changes are delivered then. */
  readonly deliver: (changes: readonly Change[], revision: number) => void;
  /** Stops what brings changes. */
  readonly pause: () => void;
  /** Continues it. */
  readonly resume: () => void;
}

/**
 * Delivers changes in turns of the event loop, a few in each, so that those who receive them can pass them on in between: etcd
 * sends up to a thousand transactions at once. Changes of one revision stay together.
 */
export class PacedChanges {
  readonly #options: PacedChangesOptions;
  #waiting: Change[] = [];
  /** The first in `#waiting` that is not delivered. */
  #next = 0;
  #waitingBytes = 0;
  #revision = 0;
  #isPaused = false;
  #immediate: NodeJS.Immediate | undefined;

  constructor(options: PacedChangesOptions) {
    this.#options = options;
  }

  /** Nothing else comes up to the revision, which may be higher than that of the last change. */
  add(changes: readonly Change[], revision: number): void {
    this.#revision = revision;
    for (const change of changes) {
      this.#waiting.push(change);
      this.#waitingBytes += lengthOf(change);
    }
    if (this.#immediate === undefined) this.#deliverNext();
    this.#pace();
  }

  /** Delivers nothing more. */
  end(): void {
    clearImmediate(this.#immediate);
    this.#waiting = [];
  }

  #deliverNext(): void {
    const from = this.#next;
    let bytes = 0;
    let at = from;
    for (; at < this.#waiting.length; at++) {
      const change = this.#waiting[at] as Change; // below the length
      const isFull = at - from >= catchUpBounds.count || bytes >= catchUpBounds.bytes;
      if (isFull && change.revision !== this.#waiting[at - 1]?.revision) break;
      bytes += lengthOf(change);
    }
    const changes = this.#waiting.slice(from, at);
    this.#next = at;
    this.#waitingBytes -= bytes;
    const isAll = at === this.#waiting.length;
    if (isAll) {
      this.#waiting = [];
      this.#next = 0;
    }
    this.#options.deliver(changes, isAll ? this.#revision : (changes.at(-1)?.revision ?? 0));
  }

  #pace(): void {
    const isPaused = this.#waitingBytes > maximumWaitingBytes;
    if (isPaused && !this.#isPaused) this.#options.pause();
    if (!isPaused && this.#isPaused) this.#options.resume();
    this.#isPaused = isPaused;
    if (this.#waiting.length === 0) return;
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined;
      this.#deliverNext();
      this.#pace();
    });
  }
}

const lengthOf = ({ key, value }: Change): number => key.length + (value?.length ?? 0);
