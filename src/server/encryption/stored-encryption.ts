import { setImmediate as nextTurn } from "node:timers/promises";
import { parseJsonObject } from "../../machinery/api/json-object.ts";
import { parseStorageKey } from "../../machinery/registry/stored/storage-key.ts";
import { writtenWith } from "../../machinery/storage/encryption/value-transformer.ts";
import type { Entry, Store } from "../../machinery/storage/store.ts";
import type { ReadableStore } from "./readable-store.ts";
import { everyKey, keyAfter } from "../../machinery/storage/key-range.ts";

/** The objects of one resource that were written with one provider and key. */
export interface EncryptionGroup {
  /** The resource as the store's keys name it: `secrets`, `leases.coordination.k8s.io`. Outside of the API: `keys`. */
  readonly resource: string;
  /** Such as `aesgcmderived:v1:3f9a…`, or `plain`. */
  readonly writtenWith: string;
  readonly state: EncryptionState;
  readonly objects: number;
}

/** Stale: the next write would write it in another form. */
export type EncryptionState = "current" | "stale" | "unreadable";

export interface EncryptionSurvey {
  readonly groups: readonly EncryptionGroup[];
  /** The first of those that can't be read, by key, with the reason. */
  readonly unreadable: readonly { readonly key: string; readonly reason: string }[];
  /** How many of them can be read again when their KMS works. */
  readonly withoutKms: number;
  /** How many of them the store's file has lost, or has otherwise than they were written. */
  readonly damaged: number;
}

/** How many objects are in a state. */
export const objectsOf = ({ groups }: EncryptionSurvey, wanted: EncryptionState): number =>
  groups.filter(({ state }) => state === wanted).reduce((sum, { objects }) => sum + objects, 0);

/** Objects of a page are written in one transaction, for which the writes of servers wait. */
const page = { limit: 100, maximumBytes: 2 ** 20, showsDamaged: true };
const shownObjects = 100;

interface SurveyOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (seen: number) => void;
}

/** Looks at every stored object, here: no value leaves this process. */
export async function surveyEncryption(
  { store, stored }: Pick<ReadableStore, "store" | "stored">,
  { signal, onProgress }: SurveyOptions = {},
): Promise<EncryptionSurvey> {
  const groups = new Map<string, { -readonly [K in keyof EncryptionGroup]: EncryptionGroup[K] }>();
  const unreadable: { readonly key: string; readonly reason: string }[] = [];
  let [seen, withoutKms, damaged] = [0, 0, 0];
  for await (const { raw, entry } of everyEntry({ store, stored })) {
    signal?.throwIfAborted();
    onProgress?.((seen += 1));
    const state = stateOfEntry(entry);
    if (entry.isKmsUnavailable === true) withoutKms += 1;
    if (raw.unreadable !== undefined) damaged += 1;
    const resource = parseStorageKey(raw.key)?.resource ?? raw.key.split("/", 2)[1] ?? "";
    const provider = writtenWith(raw.value) ?? "plain";
    if (state === "unreadable" && unreadable.length < shownObjects) {
      unreadable.push({ key: raw.key, reason: entry.unreadable ?? "" });
    }
    const id = `${resource} ${provider} ${state}`;
    const group = groups.get(id);
    if (group === undefined) groups.set(id, { resource, writtenWith: provider, state, objects: 1 });
    else group.objects += 1;
  }
  signal?.throwIfAborted();
  return { groups: [...groups.values()], unreadable, withoutKms, damaged };
}

const stateOfEntry = ({ unreadable, isStale }: Entry): EncryptionState =>
  unreadable !== undefined ? "unreadable" : isStale === true ? "stale" : "current";

export interface RewriteReport {
  readonly rewritten: number;
  /** Others changed these meanwhile, which encrypted them by the current settings. */
  readonly changedMeanwhile: number;
  readonly unreadable: number;
}

export interface RewriteOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (seen: number, rewritten: number) => void;
}

/**
 * Writes every stale object again, with the same contents: each by compare-and-swap, so that nothing is lost while servers
 * write, and so that it can be ended at any moment and begun again. The stale objects of a page are written at once: the store
 * flushes them together.
 */
export async function rewriteStale(
  { store, stored }: Pick<ReadableStore, "store" | "stored">,
  { signal, onProgress }: RewriteOptions,
): Promise<RewriteReport> {
  const report = { rewritten: 0, changedMeanwhile: 0, unreadable: 0 };
  let seen = 0;
  for await (const pairs of everyPage({ store, stored })) {
    signal.throwIfAborted();
    const entries = pairs.map(({ entry }) => entry);
    const stale = entries.filter((entry) => stateOfEntry(entry) === "stale");
    const rewritten = await rewriteAtOnce(store, stale);
    report.rewritten += rewritten;
    report.changedMeanwhile += stale.length - rewritten;
    report.unreadable += entries.filter((entry) => stateOfEntry(entry) === "unreadable").length;
    onProgress((seen += entries.length), report.rewritten);
  }
  return report;
}

/** Returns how many were written: another one was changed meanwhile. */
async function rewriteAtOnce(store: Store, entries: readonly Entry[]): Promise<number> {
  const outcomes = await Promise.allSettled(
    entries.map(({ key, value, modRevision }) => store.write({ key, value, expectedRevision: modRevision })),
  );
  let rewritten = 0;
  for (const outcome of outcomes) {
    if (outcome.status === "rejected") throw outcome.reason;
    if (outcome.value.isWritten) rewritten += 1;
  }
  return rewritten;
}

/** An object as it is stored, and as it is read. */
interface ReadEntry {
  readonly raw: Entry;
  readonly entry: Entry;
}

async function* everyEntry(opened: Pick<ReadableStore, "store" | "stored">): AsyncIterable<ReadEntry> {
  for await (const pairs of everyPage(opened)) yield* pairs;
}

/** All objects, and the server's own records. Reads the newest state page by page, while others may write. */
async function* everyPage({
  store,
  stored,
}: Pick<ReadableStore, "store" | "stored">): AsyncIterable<readonly ReadEntry[]> {
  for (let { start } = everyKey; ;) {
    const { entries: raws, revision, hasMore } = await stored.range({ ...everyKey, start, ...page });
    const last = raws.at(-1);
    if (last === undefined) return;
    const end = keyAfter(last.key);
    // At the same revision: the same entries.
    const { entries } = await store.range({ start, end, revision, showsDamaged: true });
    yield raws.map((raw, index) => ({ raw, entry: withReason(entries[index] ?? raw) }));
    // A store on this disk reads without waiting: no signal would be noticed until the end, and then it would be lost.
    await nextTurn();
    if (!hasMore) return;
    start = end;
  }
}

/** An entry that is not an object in JSON, as a damaged disk or another program leaves it, counts as unreadable too. */
export const withReason = (entry: Entry): Entry =>
  entry.unreadable !== undefined || parseJsonObject(entry.value.toString("utf8")) !== undefined
    ? entry
    : { ...entry, unreadable: "it is not an object" };
