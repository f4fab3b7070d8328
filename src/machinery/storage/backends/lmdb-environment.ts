import { chmodSync, existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { getLastVersion, open } from "lmdb";
import { silenceCommitErrors } from "./lmdb-commit-reports.ts";
import { makeLockFile, removeSparseLockFile } from "./lmdb-lock-file.ts";
import { makeStoreFile } from "./lmdb-store-file.ts";
import type { Database, RootDatabase } from "lmdb";
import { errorCode } from "../../api/error-code.ts";

const FILE_NAME = "store.mdb";
const FORMAT_VERSION = 1;
/** Address space only, not disk or memory: up to this size the file can grow without remapping. */
const MAP_BYTES = 64 * 2 ** 30;

export interface LmdbEnvironment {
  readonly root: RootDatabase<Buffer, Buffer>;
  /** Revision -> the write, see lmdb-records.ts. */
  readonly log: Database<Buffer, Buffer>;
  /**
   * Key -> its newest write. The revision is the record's LMDB version; one byte tells a value (1) from a delete (0).
   */
  readonly heads: Database<Buffer, Buffer>;
  /** `revision`, `compacted` and `swept` are counters, stored as the record's LMDB version. Also `format`. */
  readonly meta: Database<Buffer, string>;
}

/** A counter; 0 before it is first written. Every read asks for one, so it does not copy the value as `getEntry` does. */
export const counterOf = ({ meta }: Pick<LmdbEnvironment, "meta">, name: "revision" | "compacted" | "swept"): number =>
  meta.getBinaryFast(name) === undefined ? 0 : getLastVersion();

export interface LmdbEnvironmentOptions {
  readonly directory: string;
  readonly profile: string;
  /** The revision of a new store. Default 1, as an empty etcd's: 0 is not a valid resourceVersion. */
  readonly firstRevision?: number;
}

const lockFileOf = (directory: string): string => join(directory, `${FILE_NAME}-lock`);

/** Removes a lock file with holes that an earlier version created. Call it only when no process has the store open. */
export const removeUnsafeLock = (directory: string): void => removeSparseLockFile(lockFileOf(directory));

/** Opens or creates the environment. Throws when it has another format version or belongs to another naming profile. */
export function openEnvironment({ directory, profile, firstRevision = 1 }: LmdbEnvironmentOptions): LmdbEnvironment {
  makeIfMissing(directory);
  chmodSync(directory, 0o700);
  const file = join(directory, FILE_NAME);
  // Create the file before LMDB does: LMDB would create it with mode 0664.
  makeStoreFile(file);
  makeLockFile(lockFileOf(directory));
  const root = open<Buffer, Buffer>({
    path: file,
    noSubdir: true,
    encoding: "binary",
    keyEncoding: "binary",
    maxDbs: 4,
    mapSize: MAP_BYTES,
    // A commit ends with the flush: no process ever sees a write that a power cut could undo.
    overlappingSync: false,
    // All batching is explicit. With lmdb's own batching, a failed commit rejects promises that nothing can catch.
    eventTurnBatching: false,
  });
  silenceCommitErrors(root);
  root.readerCheck(); // the slots of processes that were killed would keep old pages alive
  const binary = { encoding: "binary", keyEncoding: "binary" } as const;
  const environment: LmdbEnvironment = {
    root,
    log: root.openDB<Buffer, Buffer>("log", binary),
    heads: root.openDB<Buffer, Buffer>("heads", { ...binary, useVersions: true }),
    meta: root.openDB<Buffer, string>("meta", { encoding: "binary", useVersions: true }),
  };
  try {
    checkFormat(environment, { profile, firstRevision });
  } catch (error) {
    void root.close();
    throw error;
  }
  return environment;
}

/** The size of a store's file; undefined when there is none. */
export const storeBytes = (directory: string): number | undefined =>
  statSync(join(directory, FILE_NAME), { throwIfNoEntry: false })?.size;

/** Node.js's own `recursive` loops forever where the system denies that the parent folder exists. */
function makeIfMissing(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

function checkFormat(
  { root, meta }: LmdbEnvironment,
  { profile, firstRevision }: { readonly profile: string; readonly firstRevision: number },
): void {
  const stored = root.transactionSync(() => {
    const format = meta.get("format");
    if (format !== undefined) return format.toString();
    const nothing = Buffer.alloc(0);
    const compacted = firstRevision === 1 ? 0 : firstRevision;
    meta.putSync("revision", nothing, firstRevision);
    meta.putSync("compacted", nothing, compacted);
    meta.putSync("swept", nothing, compacted);
    meta.putSync("format", Buffer.from(JSON.stringify({ version: FORMAT_VERSION, profile })), 1);
    return undefined;
  });
  if (stored === undefined) return;
  const found = String(profileOf(stored));
  if (found !== profile) {
    throw new Error(
      `the store has the names of the profile ${found}, not ${profile}: start with --profile ${found}, or with another --data-dir`,
    );
  }
}

/** The profile in the stored format. Throws when the format has another version. */
function profileOf(stored: string): unknown {
  const format: unknown = JSON.parse(stored);
  const fields = new Map<string, unknown>(typeof format === "object" && format !== null ? Object.entries(format) : []);
  if (fields.get("version") !== FORMAT_VERSION) {
    throw new Error(
      `the store has format ${String(fields.get("version"))}; this version reads format ${FORMAT_VERSION}`,
    );
  }
  return fields.get("profile");
}

/**
 * The naming profile that a store belongs to; undefined when there is no store. Reads only, also while a server uses it.
 * Throws when the file is damaged or has another format.
 */
export function storedProfile(directory: string): string | undefined {
  const file = join(directory, FILE_NAME);
  if (!existsSync(file)) return undefined;
  makeStoreFile(file); // checks it: LMDB would end the process
  makeLockFile(lockFileOf(directory));
  const root = open<Buffer, Buffer>({ path: file, noSubdir: true, readOnly: true, maxDbs: 4, mapSize: MAP_BYTES });
  try {
    const meta = root.openDB<Buffer, string>("meta", { encoding: "binary", useVersions: true });
    const format = meta.get("format");
    return format === undefined ? undefined : String(profileOf(format.toString()));
  } finally {
    void root.close();
  }
}
