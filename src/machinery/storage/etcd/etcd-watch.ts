import { RevisionCompacted, StoreUnavailable } from "../store.ts";
import type { WatchRequest } from "../store.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { decodeWatchAnswer, encodeProgressRequest, encodeWatchCreate } from "./etcd-messages.ts";
import type { WatchAnswer, WatchEvent } from "./etcd-messages.ts";
import type { Call } from "../../grpc/grpc-call.ts";
import type { RevisionForm } from "./revision-form.ts";

export interface EtcdWatchOptions {
  readonly client: EtcdClient;
  /** The etcd keys to watch. */
  readonly range: { readonly key: string; readonly rangeEnd: string };
  /** Converts an etcd key to a store key. Undefined when it does not hold an object. */
  storeKey(key: string): string | undefined;
  readonly form: RevisionForm;
  readonly request: WatchRequest;
  /** Called once, for any reason. */
  readonly onClosed: (watch: EtcdWatch) => void;
}

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
}

/** One watch of the store, on its own stream. It ends when its connection ends; the follower then starts a new one. */
export class EtcdWatch {
  /** Every change up to this revision has been delivered, or was not requested. */
  position: number;
  readonly #options: EtcdWatchOptions;
  readonly #waiters = new Set<Waiter>();
  #events: WatchEvent[] = [];
  #call: Call | undefined;
  #isClosed = false;

  constructor(options: EtcdWatchOptions) {
    this.#options = options;
    this.position = options.request.afterRevision;
    void this.#open();
  }

  /**
   * Returns undefined when the revision is already delivered. Otherwise resolves once it is, or the watch is closed.
   */
  reaches(revision: number): Promise<void> | undefined {
    if (this.#isClosed || this.position >= revision) return undefined;
    return new Promise((resolve) => this.#waiters.add({ revision, resolve }));
  }

  /** Asks etcd to report the watch's progress. */
  requestProgress(): void {
    this.#call?.send(encodeProgressRequest());
  }

  /** Stops all callbacks. */
  stop(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#call?.cancel();
    for (const { resolve } of this.#waiters) resolve();
    this.#waiters.clear();
    this.#options.onClosed(this);
  }

  end(error: Error): void {
    if (this.#isClosed) return;
    this.stop();
    this.#options.request.onEnd(error);
  }

  async #open(): Promise<void> {
    const { client, range, request, form } = this.#options;
    try {
      const call = await client.stream("/etcdserverpb.Watch/Watch", {
        onMessage: (message) => this.#read(decodeWatchAnswer(message)),
        onEnd: (error) =>
          this.end(new StoreUnavailable(`the watch ended: ${error?.message ?? "etcd closed it"}`, { cause: error })),
      });
      if (this.#isClosed) return call.cancel();
      this.#call = call;
      // Start at this revision and not the next: etcd would otherwise start exactly at the compacted revision, whose
      // deletes it may have forgotten. And later writes of its transaction may be new.
      const startRevision = Math.max(1, form.etcdRevision(request.afterRevision));
      call.send(encodeWatchCreate({ ...range, startRevision }));
    } catch (error) {
      this.end(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #read(answer: WatchAnswer): void {
    if (this.#isClosed) return;
    if (answer.isCanceled) {
      const { compactRevision, cancelReason } = answer;
      const { form } = this.#options;
      if (compactRevision !== 0) return this.end(new RevisionCompacted(form.storeRevision(compactRevision)));
      return this.end(new StoreUnavailable(`etcd ended the watch: ${cancelReason}`));
    }
    if (answer.isCreated) return;
    if (answer.events.length === 0) return this.#progress(this.#options.form.storeRevision(answer.revision));
    this.#events.push(...answer.events);
    if (answer.isFragment) return;
    const events = this.#events;
    this.#events = [];
    this.#give(events);
  }

  /** All events of a revision of etcd come in one answer. */
  #give(events: readonly WatchEvent[]): void {
    const { storeKey, request, form } = this.#options;
    const changes = form.changes(events, storeKey).filter(({ revision }) => revision > this.position);
    const last = form.storeRevision(events.at(-1)?.keyValue.modRevision ?? 0);
    if (changes.length > 0) {
      try {
        request.onChanges(changes);
      } catch (error) {
        // A watcher that throws has lost changes, so its watch must end.
        return this.end(error instanceof Error ? error : new Error(String(error)));
      }
    }
    if (changes.at(-1)?.revision === last) this.#advance(last);
    else this.#progress(last);
  }

  /** The revision grew without a change to the store's own keys. */
  #progress(revision: number): void {
    if (this.#isClosed || revision <= this.position) return;
    this.#advance(revision);
    this.#options.request.onProgress?.(revision);
  }

  #advance(revision: number): void {
    if (this.#isClosed || revision <= this.position) return;
    this.position = revision;
    for (const waiter of this.#waiters) {
      if (waiter.revision > revision) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}
