import { asError } from "../../api/thrown-error.ts";
import { andThen } from "../../api/maybe-promise.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import type { Change, Store, WatchRequest } from "../store.ts";

interface OrderedWatchOptions {
  readonly store: Store;
  readonly request: WatchRequest;
  read(changes: readonly Change[]): MaybePromise<readonly Change[]>;
  onStopped(): void;
}

/** Passes on the changes of a watch in their order, although some of them wait for their decryption. */
export class OrderedWatch {
  readonly #options: OrderedWatchOptions;
  readonly #inner: { stop(): void };
  /** The end of the queue. Undefined: nothing waits. */
  #waiting: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: OrderedWatchOptions) {
    this.#options = options;
    const { request, store } = options;
    const { onProgress } = request;
    this.#inner = store.watch({
      afterRevision: request.afterRevision,
      onChanges: (changes) => this.#next(() => this.#deliver(changes)),
      ...(onProgress !== undefined && {
        onProgress: (revision) => this.#next(() => onProgress(revision)),
      }),
      onEnd: (error) => this.#next(() => this.end(error)),
    });
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#inner.stop();
    this.#options.onStopped();
  }

  end(error: Error): void {
    if (this.#isStopped) return;
    this.stop();
    this.#options.request.onEnd(error);
  }

  /** Resolves when all received changes are passed on. Undefined: they are already. */
  delivered(): Promise<void> | undefined {
    return this.#waiting;
  }

  #next(step: () => MaybePromise<void>): void {
    if (this.#isStopped) return;
    if (this.#waiting !== undefined)
      return this.#wait(this.#waiting.then(() => (this.#isStopped ? undefined : step())));
    const done = step();
    if (done instanceof Promise) this.#wait(done);
  }

  #wait(done: Promise<void>): void {
    const settled = done.then(
      () => {},
      // The follower threw, or reading a value failed with another error than UndecryptableValue. Either way, changes are lost.
      (error: unknown) => this.end(asError(error)),
    );
    this.#waiting = settled;
    void settled.then(() => {
      if (this.#waiting === settled) this.#waiting = undefined;
    });
  }

  #deliver(changes: readonly Change[]): MaybePromise<void> {
    return andThen(this.#options.read(changes), (read) => {
      if (!this.#isStopped) this.#options.request.onChanges(read);
    });
  }
}
