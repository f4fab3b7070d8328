import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { getLastVersion } from "lmdb";
import { noBytes } from "../../api/bytes/no-bytes.ts";
import { answerAt } from "../answer-at.ts";
import { StoreDamaged, WriteAbandoned, isExpected } from "../store.ts";
import type { Change, Entry, WriteRequest, WriteResult } from "../store.ts";
import { commitFailure } from "./lmdb-commit-failure.ts";
import { damageOf } from "./lmdb-damage.ts";
import { counterOf } from "./lmdb-environment.ts";
import type { LmdbEnvironment } from "./lmdb-environment.ts";
import { newFormat } from "./lmdb-format.ts";
import {
  decodeCreateRevision,
  decodeHead,
  encodeHead,
  encodeLogRecord,
  encodeRevision,
  isIntact,
} from "./lmdb-records.ts";

/** Limits one transaction: other writes wait until it is done. */
const maximumBatchWrites = 1000;
const maximumBatchBytes = 8 * 2 ** 20;

/** Per write: the rest of the value's last page, a page of the log, and two pages of the heads, because the key's page may be split. */
const pagesOfAWrite = 4;

/** After so many losses to other processes' commits, a batch pauses before it is planned again. */
const lossesBeforePauses = 10;
const maximumPauseMilliseconds = 10;
/** After so many losses a batch is refused, because its writers would wait endlessly. */
const maximumLosses = 1000;

export interface WriteQueueOptions {
  readonly environment: LmdbEnvironment;
  /** Reads the newest write of a key, whose revision is given. Throws StoreDamaged. */
  readonly entryOf: (key: string, revision: number) => Entry | undefined;
  /** Called with the changes of each transaction of a batch when all are on disk. Their writes resolve when the returned promise does. */
  readonly onCommitted: (transactions: readonly (readonly Change[])[]) => Promise<void>;
  /** Called when a batch was not written: another process may have written the revisions for which it was planned. */
  readonly onNotWritten: () => void;
  /** Waits before a batch that has lost to other processes again and again is planned anew. Default: a random time up to 10 ms. */
  readonly pause?: () => Promise<void>;
}

/** Writes that are made together or not at all. Most have one key. */
type Transaction = readonly WriteRequest[];

interface PendingTransaction {
  readonly requests: Transaction;
  readonly resolve: (results: readonly WriteResult[]) => void;
  readonly reject: (error: Error) => void;
}

/** The state of a key after the earlier writes of the batch. */
interface KeyState {
  /** The revision of the key's newest write. 0: the key was never written, or compaction removed its history. */
  readonly revision: number;
  /** 0: the key does not exist. */
  readonly modRevision: number;
  /** 0: the key does not exist, or the createRevision was not read yet. */
  readonly createRevision: number;
}

interface PlannedWrite {
  readonly change: Change;
  readonly previousRevision: number;
}

interface Plan {
  /** The results of each transaction. Of a group, only the transaction that would have to show a damaged entry fails. */
  readonly results: readonly (readonly WriteResult[] | StoreDamaged)[];
  readonly writes: readonly PlannedWrite[];
  /** The changes of the transactions that are written. */
  readonly changes: readonly (readonly Change[])[];
}

/**
 * Group commit: all writes that arrive while a transaction is being flushed go into the next one. A batch is planned on
 * the committed state. LMDB's write thread then writes it, on condition that no other process wrote in between.
 * Otherwise the batch is planned again.
 */
export class WriteQueue {
  readonly #options: WriteQueueOptions;
  #pending: PendingTransaction[] = [];
  #running: Promise<void> | undefined;
  /** When the batch that is being written was taken. */
  #batchTakenAt: number | undefined;
  /** The store's revision after the commit of the batch that is being written. `onCommitted` is called soon after the commit. */
  committingRevision: number | undefined;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  add(requests: Transaction): Promise<readonly WriteResult[]> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ requests, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Returns how long the current batch has been written by now. 0: no batch is being written. */
  writingMilliseconds(): number {
    return this.#batchTakenAt === undefined ? 0 : performance.now() - this.#batchTakenAt;
  }

  /** Resolves when no write waits or runs. */
  async drained(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    // The writes of one turn of the event loop share a transaction. A client that resets its request right behind it is noticed in that
    // turn too, before the write begins: often both arrive in one read.
    await nextTurn();
    while (this.#pending.length > 0) {
      this.#removeAbandoned();
      const batch = this.#takeBatch();
      if (batch.length === 0) break;
      this.#batchTakenAt = performance.now();
      try {
        const { results, changes } = await this.#commit(batch.map(({ requests }) => requests));
        this.committingRevision = undefined;
        await this.#options.onCommitted(changes);
        for (const [index, { resolve, reject }] of batch.entries()) {
          const result = answerAt(results, index);
          if (result instanceof StoreDamaged) reject(result);
          else resolve(result);
        }
      } catch (error) {
        this.#forgetBatch();
        const refusal = await commitFailure(this.#options.environment, error);
        for (const { reject } of batch) reject(refusal);
      }
    }
    this.#batchTakenAt = undefined;
    this.#running = undefined;
  }

  /** Removes aborted writes from the queue. Doing it here, once per batch, costs waiting writes nothing. */
  #removeAbandoned(): void {
    if (!this.#pending.some(isAbandoned)) return;
    for (const { reject } of this.#pending.filter(isAbandoned)) reject(new WriteAbandoned());
    this.#pending = this.#pending.filter((write) => !isAbandoned(write));
  }

  #takeBatch(): PendingTransaction[] {
    let bytes = 0;
    let writes = 0;
    let length = 0;
    for (const { requests } of this.#pending) {
      for (const { value } of requests) bytes += value?.length ?? 0;
      writes += requests.length;
      if (length > 0 && (bytes > maximumBatchBytes || writes > maximumBatchWrites)) break;
      length += 1;
    }
    return this.#pending.splice(0, length);
  }

  async #commit(transactions: readonly Transaction[]): Promise<Pick<Plan, "results" | "changes">> {
    const { pause = shortPause } = this.#options;
    for (let losses = 0; losses < maximumLosses; losses++) {
      if (losses >= lossesBeforePauses) await pause();
      this.#options.environment.root.resetReadTxn();
      const latestRevision = counterOf(this.#options.environment, "revision");
      const plan = this.#plan(transactions, latestRevision);
      if (plan.writes.length === 0) return plan;
      this.committingRevision = latestRevision + plan.writes.length;
      if (await this.#write(latestRevision, plan.writes)) return plan;
      this.#forgetBatch();
    }
    throw new Error("other processes write to it without a pause");
  }

  #forgetBatch(): void {
    this.committingRevision = undefined;
    this.#options.onNotWritten();
  }

  #plan(transactions: readonly Transaction[], latestRevision: number): Plan {
    const states = new Map<string, KeyState>();
    const planned = new Map<number, PlannedWrite>();
    const results: (WriteResult[] | StoreDamaged)[] = [];
    const changes: Change[][] = [];
    let revision = latestRevision;
    for (const requests of transactions) {
      // The keys of a transaction differ, so no write changes the state that another one finds.
      const found = requests.map((request) => ({
        request,
        state: states.get(request.key) ?? this.#stateOf(request.key),
      }));
      if (!found.every(({ request, state }) => isExpected(request, state.modRevision))) {
        results.push(this.#refused(found, planned));
        continue;
      }
      const written: WriteResult[] = [];
      const ofTransaction: Change[] = [];
      for (const { request, state } of found) {
        const { key, value } = request;
        revision += 1;
        const createRevision = value === undefined ? 0 : this.#createRevisionOf(state) || revision;
        const change = { revision, key, value, createRevision };
        planned.set(revision, { change, previousRevision: state.revision });
        ofTransaction.push(change);
        states.set(key, { revision, modRevision: value === undefined ? 0 : revision, createRevision });
        written.push({ isWritten: true, revision });
      }
      results.push(written);
      changes.push(ofTransaction);
    }
    return { results, writes: [...planned.values()], changes };
  }

  /** The results of a transaction that is refused; StoreDamaged when an entry that they would have to show is damaged. */
  #refused(
    found: readonly { readonly request: WriteRequest; readonly state: KeyState }[],
    planned: ReadonlyMap<number, PlannedWrite>,
  ): WriteResult[] | StoreDamaged {
    try {
      return found.map(({ request: { key }, state }) => ({
        isWritten: false,
        current: this.#entryOf(key, { state, planned }),
      }));
    } catch (cause) {
      const damage = damageOf(cause);
      if (damage === undefined) throw cause;
      return damage;
    }
  }

  #stateOf(key: string): KeyState {
    const value = this.#options.environment.heads.getBinaryFast(Buffer.from(key));
    if (value === undefined) return { revision: 0, modRevision: 0, createRevision: 0 };
    const revision = getLastVersion();
    return { revision, modRevision: decodeHead(value).isDeleted ? 0 : revision, createRevision: 0 };
  }

  /** 0 when the key does not exist. */
  #createRevisionOf({ modRevision, createRevision }: KeyState): number {
    if (modRevision === 0 || createRevision !== 0) return createRevision;
    const record = this.#options.environment.log.getBinaryFast(encodeRevision(modRevision));
    // A damaged record does not tell it: take the record's own revision, so that the new write makes the key readable again.
    return record === undefined || !isIntact(record) ? modRevision : decodeCreateRevision(record);
  }

  #entryOf(
    key: string,
    {
      state: { modRevision },
      planned,
    }: { readonly state: KeyState; readonly planned: ReadonlyMap<number, PlannedWrite> },
  ): Entry | undefined {
    if (modRevision === 0) return undefined;
    const change = planned.get(modRevision)?.change;
    if (change === undefined) return this.#options.entryOf(key, modRevision);
    const { value, createRevision } = change;
    return value && { key, value, createRevision, modRevision };
  }

  /** False when another process wrote first: then nothing was written. */
  async #write(latestRevision: number, writes: readonly PlannedWrite[]): Promise<boolean> {
    const { environment } = this.#options;
    const { files, room, meta, opening } = environment;
    files.check();
    room.check({ bytes: bytesOf(writes), pages: writes.length * pagesOfAWrite });
    return await opening.commit(() => meta.ifVersion("revision", latestRevision, () => putAll(environment, writes)));
  }
}

/** Puts the writes into the current transaction, and the revision of the last write as the store's revision. */
function putAll(environment: LmdbEnvironment, writes: readonly PlannedWrite[]): void {
  const { meta, log, heads } = environment;
  let last = 0;
  // The transaction succeeds or fails as a whole, and ifVersion's promise reports that. The promises of the puts are often the same
  // object. Their rejections are ignored, so that they do not become unhandled rejections.
  let put: Promise<unknown> | undefined;
  for (const { change, previousRevision } of writes) {
    const { revision, key, value, createRevision } = change;
    const record = encodeLogRecord({ key, value, createRevision, previousRevision });
    put = ignoreRejection(log.put(encodeRevision(revision), record, atTheEnd), put);
    put = ignoreRejection(
      heads.put(Buffer.from(key), encodeHead(value, { previousRevision, revision }), revision),
      put,
    );
    last = revision;
  }
  const format = newFormat(environment);
  if (format !== undefined) put = ignoreRejection(meta.put("format", format.value, format.version), put);
  void ignoreRejection(meta.put("revision", noBytes, last), put);
}

function ignoreRejection(promise: Promise<unknown>, ignored: Promise<unknown> | undefined): Promise<unknown> {
  if (promise !== ignored) promise.catch?.(() => {});
  return promise;
}

const bytesOf = (writes: readonly PlannedWrite[]): number => {
  let bytes = 0;
  for (const { change } of writes) bytes += 2 * change.key.length + (change.value?.length ?? 0);
  return bytes;
};

const shortPause = (): Promise<void> => delay(Math.random() * maximumPauseMilliseconds);

const isAbandoned = ({ requests }: PendingTransaction): boolean =>
  requests.some(({ signal }) => signal?.aborted === true);

/** A new revision is always the largest key. With this option, LMDB fills the pages, which would otherwise stay half empty. */
const atTheEnd = { append: true } as unknown as number; // put takes options, which lmdb's types leave out
