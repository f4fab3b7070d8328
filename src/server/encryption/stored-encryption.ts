import { setImmediate as nextTurn } from "node:timers/promises";
import { parseJsonObject } from "../../machinery/api/json/json-object.ts";
import { parseStorageKey } from "../../machinery/registry/stored/storage-key.ts";
import { writtenWith } from "../../machinery/storage/encryption/value-transformer.ts";
import type { Entry, Store } from "../../machinery/storage/store.ts";
import type { DecryptedStore } from "./decrypted-store.ts";
import { everyKey, keyAfter } from "../../machinery/storage/key-range.ts";

/** The objects of one resource that were written with one provider and key. */
interface EncryptionGroup {
  /** The resource as the store's keys name it: `secrets`, `leases.coordination.k8s.io`. Outside of the API: `keys`. */
  readonly resource: string;
  /** The provider and key, such as `aesgcmderived:v1:3f9a…`, or `plain`. */
  readonly writtenWith: string;
  readonly state: EncryptionState;
  readonly objects: number;
}

/** Whether the object is encrypted as the settings say. Stale: the next write would encrypt it in another way. */
type EncryptionState = "current" | "stale" | "unreadable";

export interface EncryptionSurvey {
  readonly groups: readonly EncryptionGroup[];
  /** The first objects that can't be read, by key, with the reason. */
  readonly unreadable: readonly { readonly key: string; readonly reason: string }[];
  /** How many of the unreadable objects can be read again when their KMS works. */
  readonly withoutKms: number;
  /** How many of the unreadable objects are damaged: the store's file has lost or changed them. */
  readonly damaged: number;
  /** How many of the unreadable objects are neither: their key is missing, or they are no objects. */
  readonly lost: number;
}

/** How many objects are in a state. */
export const objectsOf = ({ groups }: EncryptionSurvey, wanted: EncryptionState): number =>
  groups.filter(({ state }) => state === wanted).reduce((sum, { objects }) => sum + objects, 0);

/** The stale objects of a page are written in one transaction, for which the writes of servers wait. */
const page = { limit: 100, maximumBytes: 2 ** 20, showsDamaged: true };
const shownObjects = 100;

interface SurveyOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (seen: number) => void;
}

/** Examines every stored object in this process, so that no value leaves it. */
export async function surveyEncryption(
  { store, stored }: Pick<DecryptedStore, "store" | "stored">,
  { signal, onProgress }: SurveyOptions = {},
): Promise<EncryptionSurvey> {
  const groups = new Map<string, { -readonly [K in keyof EncryptionGroup]: EncryptionGroup[K] }>();
  const unreadable: { readonly key: string; readonly reason: string }[] = [];
  let [seen, withoutKms, damaged, lost] = [0, 0, 0, 0];
  for await (const { raw, entry } of everyEntry({ store, stored })) {
    signal?.throwIfAborted();
    onProgress?.((seen += 1));
    const state = stateOfEntry(entry);
    if (entry.isKmsUnavailable === true) withoutKms += 1;
    else if (raw.unreadable !== undefined) damaged += 1;
    else if (state === "unreadable") lost += 1;
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
  return { groups: [...groups.values()], unreadable, withoutKms, damaged, lost };
}

const stateOfEntry = ({ unreadable, isStale }: Entry): EncryptionState =>
  unreadable !== undefined ? "unreadable" : isStale === true ? "stale" : "current";

interface RewriteReport {
  readonly rewritten: number;
  /** Objects that others changed at the same time, and thereby encrypted as the present settings say. */
  readonly changedMeanwhile: number;
  readonly unreadable: number;
}

interface RewriteOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (seen: number, rewritten: number) => void;
}

/**
 * Writes every stale object again, with the same contents. Each write is a compare-and-swap, so that nothing is lost while servers write,
 * and the work can be ended and continued at any moment. The stale objects of a page are written at the same time, so that the store
 * flushes them together.
 */
export async function rewriteStale(
  { store, stored }: Pick<DecryptedStore, "store" | "stored">,
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

/** Writes objects at the same time, and returns how many were written. The others had been changed since they were read. */
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

/** An object as it is stored, and as it is decrypted. */
interface ReadEntry {
  readonly raw: Entry;
  readonly entry: Entry;
}

async function* everyEntry(opened: Pick<DecryptedStore, "store" | "stored">): AsyncIterable<ReadEntry> {
  for await (const pairs of everyPage(opened)) yield* pairs;
}

/** All objects, and the server's own records. Reads the newest state page by page, while others may write. */
async function* everyPage({
  store,
  stored,
}: Pick<DecryptedStore, "store" | "stored">): AsyncIterable<readonly ReadEntry[]> {
  for (let { start } = everyKey; ;) {
    const { entries: raws, revision, hasMore } = await stored.range({ ...everyKey, start, ...page });
    const last = raws.at(-1);
    if (last === undefined) return;
    const end = keyAfter(last.key);
    // At the same revision, so that these are the same entries.
    const { entries } = await store.range({ start, end, revision, showsDamaged: true });
    yield raws.map((raw, index) => ({ raw, entry: withReason(entries[index] ?? raw) }));
    // A store on this disk reads synchronously. Without this turn, a signal would be noticed only at the end, and then be lost.
    await nextTurn();
    if (!hasMore) return;
    start = end;
  }
}

/** The entry, marked as unreadable when it is not an object in JSON, as after damage to the disk or a write of another program. */
export const withReason = (entry: Entry): Entry =>
  entry.unreadable !== undefined || parseJsonObject(entry.value.toString("utf8")) !== undefined
    ? entry
    : { ...entry, unreadable: "it is not an object" };
