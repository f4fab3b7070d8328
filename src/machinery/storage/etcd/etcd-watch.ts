import { asError } from "../../api/thrown-error.ts";
import { RevisionCompacted, StoreUnavailable } from "../store.ts";
import type { Change, WatchRequest } from "../store.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { decodeWatchAnswer, encodeProgressRequest, encodeWatchCreate } from "./etcd-messages.ts";
import type { WatchAnswer, WatchEvent } from "./etcd-messages.ts";
import { etcdMethods } from "./etcd-methods.ts";
import type { Call } from "../../grpc/grpc-call.ts";
import { AnswerTooLong } from "../../grpc/grpc-error.ts";
import type { GrpcError } from "../../grpc/grpc-error.ts";
import { PacedChanges } from "./paced-changes.ts";
import type { RevisionForm } from "./revision-form.ts";
import type { WatchCheck } from "./watch-check.ts";

export interface EtcdWatchOptions {
  readonly client: Pick<EtcdClient, "stream">;
  /** The etcd keys to watch. */
  readonly range: { readonly key: string; readonly rangeEnd: string };
  /** Converts an etcd key to a store key. Undefined when it does not hold an object. */
  storeKey(key: string): string | undefined;
  readonly form: RevisionForm;
  /** Detects lost changes. The watch stops the check when changes are lost. Absent: lost changes are not detected. */
  readonly check?: WatchCheck | undefined;
  readonly request: WatchRequest;
  /** Called once, for any reason. */
  readonly onClosed: (watch: EtcdWatch) => void;
}

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
}

/** After so many unanswered requests for progress, which the store sends in two seconds, etcd is taken not to answer any. */
const maximumUnanswered = 8;

/** One watch of the store, on its own stream. It ends when its connection ends; the follower then starts a new one. */
export class EtcdWatch {
  /** All changes up to this revision are delivered, or come before the first one that the request wants. */
  position: number;
  readonly #options: EtcdWatchOptions;
  readonly #waiters = new Set<Waiter>();
  readonly #paced = new PacedChanges({
    transactionOf: (revision) => this.#options.form.etcdRevision(revision),
    deliver: (changes, revision) => this.#deliver(changes, revision),
    pause: () => this.#call?.pause(),
    resume: () => this.#call?.resume(),
  });
  /** All changes up to this revision are received. */
  #received: number;
  /** etcd's revision of the last event. */
  #last = 0;
  #call: Call | undefined;
  /** The check, which the next watch continues. Undefined when everything is loaded again before the next watch. */
  check: WatchCheck | undefined;
  /** Whether etcd answers requests for the watch's progress. False after several without an answer: etcd's gRPC proxy ignores them. */
  reportsProgress = true;
  /** The number of requests for progress since the last message. */
  #unanswered = 0;
  #isClosed = false;

  constructor(options: EtcdWatchOptions) {
    this.#options = options;
    this.position = options.request.afterRevision;
    this.#received = this.position;
    this.check = options.check;
    this.check?.onLoss(() => this.end(changesLost(this.#received)));
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
    if (this.#call === undefined) return;
    this.#call.send(encodeProgressRequest());
    this.#unanswered += 1;
    if (this.#unanswered === maximumUnanswered) this.reportsProgress = false;
  }

  /** Stops all callbacks. */
  stop(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#paced.end();
    this.#call?.cancel();
    for (const { resolve } of this.#waiters) resolve();
    this.#waiters.clear();
    this.#options.onClosed(this);
  }

  end(error: Error): void {
    if (this.#isClosed) return;
    if (error instanceof RevisionCompacted) {
      this.check?.stop();
      this.check = undefined;
    }
    this.stop();
    this.#options.request.onEnd(error);
  }

  async #open(): Promise<void> {
    const { client, range, request, form } = this.#options;
    try {
      const call = await client.stream(etcdMethods.watch, {
        onMessage: (message) => this.#read(decodeWatchAnswer(message)),
        onEnd: (error) => this.end(this.#reasonOf(error)),
      });
      if (this.#isClosed) return call.cancel();
      this.#call = call;
      // Start at `afterRevision`, not at the next revision, which may be exactly the compacted one: etcd accepts that, although it may have
      // forgotten deletes of that revision. Also, later writes of the same transaction may be new.
      const startRevision = Math.max(1, form.etcdRevision(request.afterRevision));
      call.send(encodeWatchCreate({ ...range, startRevision }));
    } catch (error) {
      this.end(asError(error));
    }
  }

  #reasonOf(error: GrpcError | undefined): Error {
    // Another program has changed very many keys at once, or etcd sends a thousand changes of large objects. A new load is shorter.
    if (error instanceof AnswerTooLong) return new RevisionCompacted(this.#received);
    return new StoreUnavailable(`the watch ended: ${error?.message ?? "etcd closed it"}`, { cause: error });
  }

  #read(answer: WatchAnswer): void {
    if (this.#isClosed) return;
    this.#unanswered = 0;
    if (answer.isCanceled) {
      const { compactRevision, cancelReason } = answer;
      const { form } = this.#options;
      if (compactRevision !== 0) return this.end(new RevisionCompacted(form.storeRevision(compactRevision)));
      return this.end(new StoreUnavailable(`etcd ended the watch: ${cancelReason}`));
    }
    if (answer.isCreated) return;
    const { events } = answer;
    if (events.length === 0) this.reportsProgress = true;
    // An older change would replace a newer one, and remain until everything is loaded again.
    if (!areInOrder(events)) return this.end(new RevisionCompacted(this.#received));
    this.#receive(events, events.at(-1)?.keyValue.modRevision ?? answer.revision);
  }

  /** Takes all events up to one of etcd's revisions. */
  #receive(events: readonly WatchEvent[], etcdRevision: number): void {
    const { storeKey, form, request } = this.#options;
    const received = form.storeRevision(etcdRevision);
    if (received <= this.#received) {
      // The events of the first revision are sent although they are known, and the events of the last one may come twice. Any other old
      // event is late: newer events or a progress report came before it. Its change was missed, so everything must be loaded again.
      const isFirst = etcdRevision <= form.etcdRevision(request.afterRevision);
      if (events.length > 0 && !isFirst && etcdRevision !== this.#last) this.end(new RevisionCompacted(this.#received));
      return;
    }
    if (events.length > 0) this.#last = etcdRevision;
    this.check?.add(events, etcdRevision);
    const changes = form.changes(events, storeKey).filter(({ revision }) => revision > this.#received);
    this.#received = received;
    this.#paced.add(changes, received);
  }

  #deliver(changes: readonly Change[], revision: number): void {
    if (changes.length > 0) {
      try {
        this.#options.request.onChanges(changes);
      } catch (error) {
        // A watcher that throws has lost changes, so its watch must end.
        return this.end(asError(error));
      }
    }
    if (changes.at(-1)?.revision === revision) this.#advance(revision);
    else this.#progress(revision);
  }

  /** Reports that the revision grew without a change to the store's own keys. */
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

const changesLost = (revision: number): RevisionCompacted =>
  new RevisionCompacted(revision, {
    cause: new Error("etcd has not told of a change, so all objects are loaded again; use the newest patch of etcd"),
  });

const areInOrder = (events: readonly WatchEvent[]): boolean =>
  events.every(({ keyValue }, at) => keyValue.modRevision >= (events[at - 1]?.keyValue.modRevision ?? 0));
