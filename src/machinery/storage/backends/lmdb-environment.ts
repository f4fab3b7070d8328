import { chmodSync, realpathSync } from "node:fs";
import { getLastVersion, open } from "lmdb";
import type { Database, RootDatabase } from "lmdb";
import { messageOf } from "../../api/thrown-error.ts";
import { checkAddressSpace } from "./check-address-space.ts";
import { checkProcessNumber } from "./check-process-number.ts";
import { DiskRoom } from "./disk-room.ts";
import { FilesInPlace } from "./files-in-place.ts";
import { silenceCommitErrors } from "./lmdb-commit-failure.ts";
import { failureOfRead, orFailure } from "./lmdb-damage.ts";
import { makeStoreFiles, makeStoreFolder, openingLockIn, storeBytes, storeFileIn, storeFilesIn } from "./lmdb-files.ts";
import { copied, decodeHead, decodeLogHead, revisionBytes } from "./lmdb-records.ts";
import type { LogHead, WriteHead } from "./lmdb-records.ts";
import { OpeningLock } from "./opening-lock.ts";
import { checkFormat, checkProfile, profileOf, storedFormat } from "./lmdb-format.ts";

/** Address space only, not disk or memory: up to this size the file can grow without remapping. */
const mapBytes = 64 * 2 ** 30;

export interface LmdbEnvironment {
  readonly directory: string;
  /** Make each commit with its `commit`. */
  readonly opening: OpeningLock;
  /** Call the `check` of `room` and of `files` before each commit. */
  readonly room: DiskRoom;
  readonly files: FilesInPlace;
  /** See LmdbEnvironmentOptions. */
  readonly onBroken: (error: Error) => void;
  readonly root: RootDatabase<Buffer, Buffer>;
  /** Revision -> the write, see lmdb-records.ts. */
  readonly log: Database<Buffer, Buffer>;
  /**
   * Key -> its newest write. The revision is the record's LMDB version. See `encodeHead` for its bytes.
   */
  readonly heads: Database<Buffer, Buffer>;
  /** The same two tables, to read many of their records, also without their values. */
  readonly scannedLog: Database<Buffer, number>;
  readonly scannedLogHeads: Database<LogHead, number>;
  readonly scannedHeads: Database<WriteHead, string>;
  /** `revision`, `compacted` and `swept` are counters, stored as the record's LMDB version. Also `format`. */
  readonly meta: Database<Buffer, string>;
}

const readOnly = (): never => {
  throw new TypeError("this handle only reads");
};

/** Decodes keys and values from lmdb's buffer. lmdb would allocate memory for each of them, which takes longer than the read. */
const logScan = {
  keyEncoder: {
    // oxlint-disable-next-line max-params -- lmdb's form
    writeKey: (revision: number, target: Buffer, start: number): number =>
      target.writeUIntBE(revision, start, revisionBytes),
    readKey: (source: Buffer, start: number): number => source.readUIntBE(start, revisionBytes),
  },
  encoder: { encode: readOnly, decode: copied },
};
const logHeadScan = { ...logScan, encoder: { encode: readOnly, decode: decodeLogHead } };
const headScan = {
  keyEncoder: {
    // oxlint-disable-next-line max-params -- lmdb's form
    writeKey: (key: string, target: Buffer, start: number): number => start + target.write(key, start),
    // oxlint-disable-next-line max-params -- lmdb's form
    readKey: (source: Buffer, start: number, end: number): string => source.toString("utf8", start, end),
  },
  encoder: { encode: readOnly, decode: decodeHead },
};

/** Returns a counter; 0 before it is first written. Every read needs a counter, so this does not copy the value as `getEntry` does. */
export function counterOf(
  { meta }: { readonly meta: Pick<LmdbEnvironment["meta"], "getBinaryFast"> },
  name: "revision" | "compacted" | "swept",
): number {
  try {
    return meta.getBinaryFast(name) === undefined ? 0 : getLastVersion();
  } catch (cause) {
    throw failureOfRead(cause);
  }
}

/**
 * Throws when the counters do not fit each other and the newest write, which only damage does. With a lower revision, reads would leave out
 * the newest writes, and new writes would replace them.
 */
function checkCounters(environment: LmdbEnvironment): void {
  const [newest = 0] = environment.scannedLog.getKeys({ reverse: true, limit: 1 });
  const revision = counterOf(environment, "revision");
  const compacted = counterOf(environment, "compacted");
  if (newest <= revision && compacted <= revision && counterOf(environment, "swept") <= compacted) return;
  throw new Error(`${storeFileIn(environment.directory)} is damaged (its revision); restore a backup (signet restore)`);
}

export interface LmdbEnvironmentOptions {
  readonly directory: string;
  readonly profile: string;
  /** The revision of a new store. Default 1, as an empty etcd's: 0 is not a valid resourceVersion. */
  readonly firstRevision?: number;
  /**
   * Called when every read and write of this process fails from now on, and only a restart helps. Of several openings of the same
   * directory, only the callback of the first is called.
   */
  readonly onBroken?: (error: Error) => void;
}

/** The environments that this process has open, by the real paths of their directories. */
const opened = new Map<string, { readonly environment: LmdbEnvironment; users: number }>();

/**
 * Opens or creates the environment. For a directory that this process has open already, returns the same environment: LMDB would lose its
 * locks if it opened a file twice. Close the environment once for each opening. Throws when it has another format version or belongs to
 * another naming profile, and when other processes hold the opening lock too long.
 */
export function openEnvironment({
  directory,
  profile,
  firstRevision = 1,
  onBroken = () => {},
}: LmdbEnvironmentOptions): LmdbEnvironment {
  makeStoreFolder(directory);
  const path = realpathSync.native(directory);
  const shared = opened.get(path);
  if (shared !== undefined) {
    checkProfile(storedFormat(shared.environment), profile);
    shared.users += 1;
    return shared.environment;
  }
  chmodSync(directory, 0o700);
  const opening = new OpeningLock(openingLockIn(directory));
  const openTablesIn = (root: RootDatabase<Buffer, Buffer>): LmdbEnvironment => {
    checkProcessNumber(root, storeFileIn(directory));
    const room = new DiskRoom(directory);
    const files = new FilesInPlace(storeFilesIn(directory));
    const environment = { directory, opening, room, files, onBroken, root, ...openTables(root) };
    checkFormat(environment, { profile, firstRevision });
    checkCounters(environment); // the first read takes a reader slot: fails now if none is free
    return environment;
  };
  const openFile = (): LmdbEnvironment => {
    // Create them here: LMDB would create them with mode 0664.
    makeStoreFiles(directory);
    checkAddressSpace(mapBytes);
    const root = openRoot(storeFileIn(directory));
    return orUndo(
      () => openTablesIn(root),
      () => void root.close(),
    );
  };
  const environment = orUndo(
    () => orExplain(opening, openFile),
    () => opening.release(),
  );
  opened.set(path, { environment, users: 1 });
  return environment;
}

/** Closes the environment when no other store in this process uses it. The caller must not write any more. */
export async function closeEnvironment(environment: LmdbEnvironment): Promise<void> {
  for (const [path, shared] of opened) {
    if (shared.environment !== environment) continue;
    shared.users -= 1;
    if (shared.users > 0) return;
    await environment.opening.close(async () => {
      if (shared.users > 0) return; // this process has opened it again
      opened.delete(path);
      await environment.root.close();
    });
    if (opened.get(path) !== shared) environment.opening.release();
  }
}

function openRoot(file: string): RootDatabase<Buffer, Buffer> {
  const root = open<Buffer, Buffer>({
    path: file,
    noSubdir: true,
    encoding: "binary",
    keyEncoding: "binary",
    maxDbs: 4,
    mapSize: mapBytes,
    // A commit ends with the flush: no process ever sees a write that a power cut could undo.
    overlappingSync: false,
    // All batching is explicit. With lmdb's own batching, a failed commit rejects promises that nothing can catch.
    eventTurnBatching: false,
  });
  silenceCommitErrors(root);
  freeReaders(root);
  return root;
}

/**
 * Frees the reader slots of processes that were killed while they read. LMDB would keep all pages since then for these readers, and the
 * file would grow with each write.
 */
export const freeReaders = (root: RootDatabase<Buffer, Buffer>): void => void root.readerCheck();

function openTables(
  root: RootDatabase<Buffer, Buffer>,
): Omit<LmdbEnvironment, "directory" | "opening" | "room" | "files" | "onBroken" | "root"> {
  const binary = { encoding: "binary", keyEncoding: "binary" } as const;
  return {
    log: root.openDB<Buffer, Buffer>("log", binary),
    heads: root.openDB<Buffer, Buffer>("heads", { ...binary, useVersions: true }),
    scannedLog: root.openDB<Buffer, number>("log", { ...logScan, useVersions: false }),
    scannedLogHeads: root.openDB<LogHead, number>("log", { ...logHeadScan, useVersions: false }),
    scannedHeads: root.openDB<WriteHead, string>("heads", { ...headScan, useVersions: true }),
    meta: root.openDB<Buffer, string>("meta", { encoding: "binary", useVersions: true }),
  };
}

/** Calls `use`. When it throws, calls `undo`. */
function orUndo<T>(use: () => T, undo: () => void): T {
  try {
    return use();
  } catch (error) {
    undo();
    throw error;
  }
}

/** Opens with the opening lock. Converts errors that are no fault of the store to messages that say what to do. */
function orExplain<T>(opening: OpeningLock, open: () => T): T {
  try {
    return opening.open(() => orFailure(open));
  } catch (cause) {
    if (!messageOf(cause).startsWith("MDB_READERS_FULL")) throw cause;
    throw new Error("too many processes have the store open; end some of them, and try again", { cause });
  }
}

/**
 * Returns the naming profile that a store belongs to; undefined when there is no store, or an empty file. Changes nothing, so a server may
 * use the store at the same time. Throws when the file is damaged or has another format.
 */
export function storedProfile(directory: string): string | undefined {
  // LMDB ends the process when it opens an empty file to read.
  if ((storeBytes(directory) ?? 0) === 0) return undefined;
  const format = formatIn(directory);
  return format === undefined ? undefined : String(profileOf(format));
}

function formatIn(directory: string): string | undefined {
  const shared = opened.get(realpathSync.native(directory));
  if (shared !== undefined) return storedFormat(shared.environment);
  const opening = new OpeningLock(openingLockIn(directory));
  try {
    return orExplain(opening, () => {
      makeStoreFiles(directory); // checks the store's file: with a bad one, LMDB would end the process
      checkAddressSpace(mapBytes);
      // Not `readOnly`: then the opening itself reads, before `checkProcessNumber`.
      const root = openRoot(storeFileIn(directory));
      try {
        checkProcessNumber(root, storeFileIn(directory));
        return storedFormat({ meta: root.openDB<Buffer, string>("meta", { encoding: "binary", useVersions: true }) });
      } finally {
        void root.close(); // closes at once, because nothing was written
      }
    });
  } finally {
    opening.release();
  }
}
