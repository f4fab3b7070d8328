import { catchUpBounds } from "../log-watches.ts";
import type { Change } from "../store.ts";

/** With more than this waiting, etcd sends no more. */
const maximumWaitingBytes = 16 * 2 ** 20;

export interface PacedChangesOptions {
  /** Is given changes, and the revision that all changes have been given up to then. */
  readonly give: (changes: readonly Change[], revision: number) => void;
  /** Stops and continues what brings changes. */
  readonly pause: (isPaused: boolean) => void;
}

/**
 * Gives changes in turns of the event loop, so that those who are told can pass them on meanwhile: etcd sends up to a thousand
 * transactions at once. Few are given at once. Changes of
 * one revision stay together.
 */
export class PacedChanges {
  readonly #options: PacedChangesOptions;
  #waiting: Change[] = [];
  /** The first in `#waiting` that is not given. */
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
    if (this.#immediate === undefined) this.#giveNext();
    this.#pace();
  }

  /** Gives nothing more. */
  end(): void {
    clearImmediate(this.#immediate);
    this.#waiting = [];
  }

  #giveNext(): void {
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
    this.#options.give(changes, isAll ? this.#revision : (changes.at(-1)?.revision ?? 0));
  }

  #pace(): void {
    const isPaused = this.#waitingBytes > maximumWaitingBytes;
    if (isPaused !== this.#isPaused) this.#options.pause((this.#isPaused = isPaused));
    if (this.#waiting.length === 0) return;
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined;
      this.#giveNext();
      this.#pace();
    });
  }
}

const lengthOf = ({ key, value }: Change): number => key.length + (value?.length ?? 0);
