import type { Log } from "../../machinery/logging/log.ts";
import type { Change, Store } from "../../machinery/storage/store.ts";

export interface CompactorOptions {
  readonly store: Store;
  readonly log: Pick<Log, "error">;
  /** How long the history is kept. 0: something else compacts the store. Default: five minutes, as in kube-apiserver. */
  readonly keptMilliseconds?: number | undefined;
  /** How many bytes of keys and values the history may hold. Default: 1 GiB. */
  readonly maximumBytes?: number;
}

/**
 * Removes the history of the store up to the revision that was the newest at the previous run. A run begins when that revision is old
 * enough, or earlier, once half of the bytes that the history may hold were written. Otherwise a client that changes one large object again
 * and again would fill the disk, or the quota of etcd.
 */
export class Compactor {
  readonly #store: Store;
  readonly #log: Pick<Log, "error">;
  readonly #keptMilliseconds: number;
  readonly #bytesAtOnce: number;
  /** The bytes that were written since the previous run. */
  #bytes = 0;
  /** The newest revision at the previous run. Undefined before the start. */
  #lastRevision: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStarted = false;
  #isCompacting = false;

  constructor({ store, log, keptMilliseconds = 5 * 60_000, maximumBytes = 2 ** 30 }: CompactorOptions) {
    this.#store = store;
    this.#log = log;
    this.#keptMilliseconds = keptMilliseconds;
    this.#bytesAtOnce = maximumBytes / 2;
  }

  /** Records the newest revision, and removes nothing yet. Does not keep the process alive. */
  start(): void {
    if (this.#keptMilliseconds === 0) return;
    this.#isStarted = true;
    void this.#compact();
  }

  /** Counts the bytes of changes, which any process may have made. */
  count(changes: readonly Change[]): void {
    for (const { key, value } of changes) this.#bytes += key.length + (value?.length ?? 0);
    if (this.#isStarted && this.#bytes >= this.#bytesAtOnce) void this.#compact();
  }

  stop(): void {
    this.#isStarted = false;
    clearTimeout(this.#timer);
  }

  /** Runs once. After a failure, the next run is when as many bytes were written again, or when the time has passed. */
  async #compact(): Promise<void> {
    if (this.#isCompacting) return;
    this.#isCompacting = true;
    this.#bytes = 0;
    clearTimeout(this.#timer);
    try {
      const latestRevision = await this.#store.latestRevision();
      if (this.#lastRevision !== undefined && this.#lastRevision > 0) await this.#store.compact(this.#lastRevision);
      this.#lastRevision = latestRevision;
    } catch (error) {
      this.#log.error({ err: error }, "compaction failed, will retry");
    } finally {
      this.#isCompacting = false;
      if (this.#isStarted) this.#timer = setTimeout(() => void this.#compact(), this.#keptMilliseconds).unref();
    }
  }
}
