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
 * Removes the history of the store up to the newest revision of the last time: when that is old enough, and sooner once half of what the
 * history may hold was written. Otherwise who changes one large object again and again would fill the disk, or the quota of etcd.
 */
export class Compactor {
  readonly #store: Store;
  readonly #log: Pick<Log, "error">;
  readonly #keptMilliseconds: number;
  readonly #bytesAtOnce: number;
  /** Since the last time. */
  #bytes = 0;
  /** Undefined before the start. */
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

  /** Notes the newest revision, and removes nothing yet. Does not keep the process alive. */
  start(): void {
    if (this.#keptMilliseconds === 0) return;
    this.#isStarted = true;
    void this.#compact();
  }

  /** Counts changes, of every process. */
  count(changes: readonly Change[]): void {
    for (const { key, value } of changes) this.#bytes += key.length + (value?.length ?? 0);
    if (this.#isStarted && this.#bytes >= this.#bytesAtOnce) void this.#compact();
  }

  stop(): void {
    this.#isStarted = false;
    clearTimeout(this.#timer);
  }

  /** After a failure it tries again when as much was written again, or the next time. */
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
