import { setImmediate } from "node:timers/promises";
import { noBytes } from "../../api/bytes/no-bytes.ts";
import { commitFailure } from "./lmdb-commit-failure.ts";
import { counterOf, freeReaders } from "./lmdb-environment.ts";
import type { LmdbEnvironment } from "./lmdb-environment.ts";
import { encodeRevision } from "./lmdb-records.ts";
import type { LogHead } from "./lmdb-records.ts";

/** How many log records one transaction examines. */
const stepLength = 500;

/** The pages that the removal of a record changes: one of the log, and one of the heads. */
const pagesOfARemoval = 2;

/** A record of the log without its value, by its revision. */
interface LoggedHead {
  readonly key: number;
  readonly value: LogHead;
}

export interface SweepOptions {
  readonly environment: LmdbEnvironment;
  readonly revision: number;
  /** Called when the revision is marked, so that reads before it fail, and before space is freed. */
  readonly onMarked: () => void;
  readonly isStopped: () => boolean;
}

/**
 * Removes history up to a revision. First marks the revision, then frees space in small transactions, so that requests
 * can run between them. Every write at or before the revision makes the previous write of the same key unreachable; a
 * delete also makes itself unreachable. Every step can be repeated, so a kill at any point does no harm. Rejects with
 * StoreUnavailable.
 */
export async function sweepHistory({ environment, revision, onMarked, isStopped }: SweepOptions): Promise<void> {
  const { root } = environment;
  // A process, such as a command, may have been killed since the store was opened.
  freeReaders(root);
  const marked = await raiseCompacted(environment, revision);
  onMarked();
  for (;;) {
    if (isStopped()) return;
    root.resetReadTxn();
    const swept = counterOf(environment, "swept");
    if (swept >= marked) return;
    await sweepStep(environment, { after: swept, upTo: marked });
    await setImmediate();
  }
}

async function sweepStep(
  environment: LmdbEnvironment,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): Promise<void> {
  const { root, scannedLogHeads, meta, opening, files, room } = environment;
  const records = [...scannedLogHeads.getRange({ start: after + 1, end: upTo + 1, limit: stepLength })];
  const sweptTo = records.length < stepLength ? upTo : (records.at(-1)?.key ?? upTo);
  try {
    files.check();
    room.check({ bytes: 0, pages: records.length * pagesOfARemoval });
    const outcomes = await opening.commit(() => {
      const writes: Promise<unknown>[] = [];
      const batch = root.batch(() => {
        for (const record of records) writes.push(...removeUnreachable(environment, record));
        writes.push(meta.put("swept", noBytes, sweptTo));
      });
      return Promise.allSettled([batch, ...writes]);
    });
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  } catch (error) {
    throw await commitFailure(environment, error);
  }
}

/** Removes the records that a write makes unreachable, in the current transaction. */
function removeUnreachable(
  { log, heads }: LmdbEnvironment,
  { key: revision, value: { key, previousRevision, isDelete, isIntact } }: LoggedHead,
): Promise<unknown>[] {
  if (!isIntact) return []; // its previousRevision may be a write of another key
  const removals: Promise<unknown>[] = [];
  if (previousRevision > 0) removals.push(log.remove(encodeRevision(previousRevision)));
  if (!isDelete) return removals;
  // The head only if the key has not been created again since.
  removals.push(log.remove(encodeRevision(revision)), heads.remove(Buffer.from(key), revision));
  return removals;
}

/** Raises the store's compacted revision if it is lower, also while other processes do so. Returns the compacted revision afterwards. */
async function raiseCompacted(environment: LmdbEnvironment, revision: number): Promise<number> {
  const { root, meta, opening } = environment;
  for (;;) {
    root.resetReadTxn();
    const current = counterOf(environment, "compacted");
    if (current >= revision) return current;
    try {
      environment.files.check();
      environment.room.check({ bytes: 0, pages: 0 });
      if (await opening.commit(() => meta.put("compacted", noBytes, revision, current))) return revision;
    } catch (error) {
      throw await commitFailure(environment, error);
    }
  }
}
