import { asError } from "../api/thrown-error.ts";
import { isTurnOver } from "../scheduling/request-turn.ts";
import { RevisionCompacted } from "./store.ts";
import type { Change, WatchRequest } from "./store.ts";

/** The most changes that a lagging watch gets in one turn of the event loop. */
export const catchUpBounds: ChangeBounds = { count: 500, bytes: 4 * 2 ** 20 };

export interface RevisionLog {
  latestRevision(): number;
  compactedRevision(): number;
  /** Reads the next changes after a revision: at most `count`, and no more once their values have `bytes`. */
  changesAfter(revision: number, bounds: ChangeBounds): Change[];
}

export interface ChangeBounds {
  readonly count: number;
  readonly bytes: number;
}

interface LogWatch {
  position: number;
  readonly request: WatchRequest;
}

/** The watches of one process on a backend's revision log. Shared by the backends that keep such a log. */
export class LogWatches {
  readonly #log: RevisionLog;
  readonly #isTurnOver: (startedAt: number) => boolean;
  readonly #watches = new Set<LogWatch>();
  #catchingUp: NodeJS.Immediate | undefined;

  /** `isOver`: whether deliveries that began at a time (of `performance.now()`) have taken long enough for one turn. */
  constructor(log: RevisionLog, isOver = isTurnOver) {
    this.#log = log;
    this.#isTurnOver = isOver;
  }

  add(request: WatchRequest): { stop(): void } {
    const watch: LogWatch = { position: request.afterRevision, request };
    this.#watches.add(watch);
    this.catchUp();
    return { stop: () => void this.#watches.delete(watch) };
  }

  /** Delivers changes that this process has just written. A lagging watch first gets the earlier changes from the log. */
  deliver(changes: readonly Change[]): void {
    const first = changes[0]?.revision;
    if (first === undefined) return;
    for (const watch of this.#watches) {
      if (watch.position < first - 1 && !this.#advance(watch)) continue;
      if (watch.position < first - 1) this.catchUp();
      else this.#deliverTo(watch, changes);
    }
  }

  /** Reads and delivers the writes of other processes, from the next event loop turn on. */
  catchUp(): void {
    if (this.#watches.size === 0) return;
    this.#catchingUp ??= setImmediate(() => {
      this.#catchingUp = undefined;
      for (const watch of this.#watches) this.#advance(watch);
      const latest = this.#latestOrZero();
      for (const watch of this.#watches) if (watch.position < latest) return this.catchUp();
    });
  }

  /** Whether a watch has not reached this revision yet. */
  isBehind(revision: number): boolean {
    for (const watch of this.#watches) if (watch.position < revision) return true;
    return false;
  }

  end(error: Error): void {
    if (this.#catchingUp !== undefined) clearImmediate(this.#catchingUp);
    this.#catchingUp = undefined;
    for (const watch of this.#watches) this.#endWatch(watch, error);
  }

  #latestOrZero(): number {
    try {
      return this.#log.latestRevision();
    } catch {
      return 0;
    }
  }

  /**
   * Delivers the next changes of the log to a watch, until the turn is over. The log does not say which changes are of one transaction of
   * another process, so these may be delivered in two turns, in their order. Returns false when the watch has ended.
   */
  #advance(watch: LogWatch): boolean {
    let changes: Change[];
    try {
      const compactedRevision = this.#log.compactedRevision();
      if (watch.position < compactedRevision) throw new RevisionCompacted(compactedRevision);
      changes =
        watch.position < this.#log.latestRevision() ? this.#log.changesAfter(watch.position, catchUpBounds) : [];
    } catch (error) {
      this.#endWatch(watch, asError(error));
      return false;
    }
    const startedAt = performance.now();
    // One by one, because each change may concern thousands of clients.
    for (const change of changes) {
      if (!this.#deliverTo(watch, [change])) return false;
      if (this.#isTurnOver(startedAt)) break;
    }
    return true;
  }

  #deliverTo(watch: LogWatch, changes: readonly Change[]): boolean {
    const last = changes.at(-1)?.revision ?? 0;
    if (last <= watch.position) return true;
    const unseen =
      (changes[0]?.revision ?? 0) > watch.position
        ? changes
        : changes.filter(({ revision }) => revision > watch.position);
    watch.position = last;
    try {
      watch.request.onChanges(unseen);
      return this.#watches.has(watch); // it may have stopped itself
    } catch (error) {
      // A watcher that throws has lost changes, so its watch must end. The others continue.
      this.#endWatch(watch, asError(error));
      return false;
    }
  }

  #endWatch(watch: LogWatch, error: Error): void {
    if (this.#watches.delete(watch)) watch.request.onEnd(error);
  }
}
