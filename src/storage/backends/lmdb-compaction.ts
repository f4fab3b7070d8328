import { setImmediate } from "node:timers/promises";
import { StoreUnavailable } from "../store.ts";
import type { LmdbEnvironment } from "./lmdb-environment.ts";
import { decodeLogRecord, decodeRevision, encodeRevision } from "./lmdb-records.ts";

/** Log records that one transaction looks at. */
const STEP_LENGTH = 500;

const NOTHING = Buffer.alloc(0);

export interface SweepOptions {
  readonly environment: LmdbEnvironment;
  readonly revision: number;
  /** Called when reads from before the revision fail, before the space is freed. */
  readonly onMarked: () => void;
  readonly isStopped: () => boolean;
}

/**
 * Forgets history up to a revision: marks it first, then frees it in small transactions between which requests run.
 * Every write at or before the revision makes the one before it of the same key unreachable; a delete also itself.
 * Each step may be repeated, so that a kill at any point does no harm.
 */
export async function sweepHistory({ environment, revision, onMarked, isStopped }: SweepOptions): Promise<void> {
  const { root, meta } = environment;
  const marked = await raiseCounter(environment, "compacted", revision);
  onMarked();
  for (;;) {
    if (isStopped()) return;
    root.resetReadTxn();
    const swept = meta.getEntry("swept")?.version ?? 0;
    if (swept >= marked) return;
    await sweepStep(environment, { after: swept, upTo: marked });
    await setImmediate();
  }
}

async function sweepStep(
  environment: LmdbEnvironment,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): Promise<void> {
  const { root, log, heads, meta } = environment;
  const removals: Promise<unknown>[] = [];
  let looked = 0;
  let last = after;
  const records = [
    ...log.getRange({ start: encodeRevision(after + 1), end: encodeRevision(upTo + 1), limit: STEP_LENGTH }),
  ];
  await root.batch(() => {
    for (const { key: encodedRevision, value: encoded } of records) {
      const { key, value, previousRevision } = decodeLogRecord(encoded);
      last = decodeRevision(encodedRevision);
      looked += 1;
      if (previousRevision > 0) removals.push(log.remove(encodeRevision(previousRevision)));
      if (value !== undefined) continue;
      removals.push(log.remove(encodedRevision));
      // Only if nobody has created the key again since.
      removals.push(heads.remove(Buffer.from(key), last));
    }
    removals.push(meta.put("swept", NOTHING, looked < STEP_LENGTH ? upTo : last));
  });
  const failed = (await Promise.allSettled(removals)).find(({ status }) => status === "rejected");
  if (failed !== undefined) throw new StoreUnavailable("the store can't be compacted: a commit failed");
}

/** Raises a counter to a revision if it is lower, whatever other processes do, and returns what it is then. */
async function raiseCounter({ root, meta }: LmdbEnvironment, name: string, revision: number): Promise<number> {
  for (;;) {
    root.resetReadTxn();
    const current = meta.getEntry(name)?.version ?? 0;
    if (current >= revision) return current;
    if (await meta.put(name, NOTHING, revision, current)) return revision;
  }
}
