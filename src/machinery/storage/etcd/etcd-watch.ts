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
  /** Finds out whether changes were lost, and is stopped when they were. Absent: nobody looks. */
  readonly check?: WatchCheck | undefined;
  readonly request: WatchRequest;
  /** Called once, for any reason. */
  readonly onClosed: (watch: EtcdWatch) => void;
}

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
}

/** The store asks for these in two seconds. */
const maximumUnanswered = 8;

/** One watch of the store, on its own stream. It ends when its connection ends; the follower then starts a new one. */
export class EtcdWatch {
  /** Every change up to this revision has been delivered, or was not requested. */
  position: number;
  readonly #options: EtcdWatchOptions;
  readonly #waiters = new Set<Waiter>();
  readonly #paced = new PacedChanges({
    transactionOf: (revision) => this.#options.form.etcdRevision(revision),
    deliver: (changes, revision) => this.#deliver(changes, revision),
    pause: () => this.#call?.pause(),
    resume: () => this.#call?.resume(),
  });
  /** Every change up to this revision has come. */
  #received: number;
  /** etcd's revision of the last event. */
  #last = 0;
  #call: Call | undefined;
  /** Goes on with the next watch. Undefined when all is loaded again first. */
  check: WatchCheck | undefined;
  /** False as long as requests for its progress stay without any answer: etcd's gRPC proxy takes none. */
  tellsProgress = true;
  /** Requests for progress since the last message. */
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
    if (this.#unanswered === maximumUnanswered) this.tellsProgress = false;
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
      // Start at this revision and not the next: etcd would otherwise start exactly at the compacted revision, whose
      // deletes it may have forgotten. And later writes of its transaction may be new.
      const startRevision = Math.max(1, form.etcdRevision(request.afterRevision));
      call.send(encodeWatchCreate({ ...range, startRevision }));
    } catch (error) {
      this.end(asError(error));
    }
  }

  #reasonOf(error: GrpcError | undefined): Error {
    // Another program has changed a great many keys at once, or etcd tells a thousand changes of large objects: loading is less.
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
    if (events.length === 0) this.tellsProgress = true;
    // An older change would replace a newer one, and be there until a reload.
    if (!areInOrder(events)) return this.end(new RevisionCompacted(this.#received));
    this.#receive(events, events.at(-1)?.keyValue.modRevision ?? answer.revision);
  }

  /** All events of etcd's revisions up to one. */
  #receive(events: readonly WatchEvent[], etcdRevision: number): void {
    const { storeKey, form, request } = this.#options;
    const received = form.storeRevision(etcdRevision);
    if (received <= this.#received) {
      // Events of the first revision come again, and the last one may come twice. Any other one should have come before newer events
      // or a progress report: its change is missing, and only a reload finds it.
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

const changesLost = (revision: number): RevisionCompacted =>
  new RevisionCompacted(revision, {
    cause: new Error("etcd has not told of a change, so all objects are loaded again; use the newest patch of etcd"),
  });

const areInOrder = (events: readonly WatchEvent[]): boolean =>
  events.every(({ keyValue }, at) => keyValue.modRevision >= (events[at - 1]?.keyValue.modRevision ?? 0));
