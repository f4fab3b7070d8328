import { chmodSync, mkdirSync, mkdtempSync } from "node:fs";
import { chmod, link, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { open } from "lmdb";
import { silenceCommitErrors } from "./lmdb-commit-reports.ts";
import { hasCode, makeLockFile, removeSparseLockFile } from "./lmdb-lock-file.ts";
import { makeStoreFile } from "./lmdb-store-file.ts";
import type { Database, RootDatabase } from "lmdb";

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

export interface LmdbEnvironmentOptions {
  readonly directory: string;
  readonly profile: string;
}

const lockFileOf = (directory: string): string => join(directory, `${FILE_NAME}-lock`);

/** Removes a lock file with holes that an earlier version created. Call it only when no process has the store open. */
export const removeUnsafeLock = (directory: string): void => removeSparseLockFile(lockFileOf(directory));

/** Opens or creates the environment. Throws when it has another format version or belongs to another naming profile. */
export function openEnvironment({ directory, profile }: LmdbEnvironmentOptions): LmdbEnvironment {
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
    checkFormat(environment, profile);
  } catch (error) {
    void root.close();
    throw error;
  }
  return environment;
}

/** Node.js's own `recursive` loops forever where the system denies that the parent folder exists. */
function makeIfMissing(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
}

function checkFormat({ root, meta }: LmdbEnvironment, profile: string): void {
  const stored = root.transactionSync(() => {
    const format = meta.get("format");
    if (format !== undefined) return format.toString();
    const nothing = Buffer.alloc(0);
    meta.putSync("revision", nothing, 1); // like an empty etcd: 0 is not a valid resourceVersion
    meta.putSync("compacted", nothing, 0);
    meta.putSync("swept", nothing, 0);
    meta.putSync("format", Buffer.from(JSON.stringify({ version: FORMAT_VERSION, profile })), 1);
    return undefined;
  });
  if (stored === undefined) return;
  const format: unknown = JSON.parse(stored);
  const found = typeof format === "object" && format !== null ? Object.entries(format) : [];
  const valueOf = (name: string): unknown => found.find(([key]) => key === name)?.[1];
  if (valueOf("version") !== FORMAT_VERSION) {
    throw new Error(`the store has format ${String(valueOf("version"))}; this version reads format ${FORMAT_VERSION}`);
  }
  if (valueOf("profile") !== profile) {
    throw new Error(
      `the store belongs to the naming profile ${JSON.stringify(valueOf("profile"))} and can't be opened with ${JSON.stringify(profile)}`,
    );
  }
}

/** Copies the environment at one point in time to a new file (0600) that appears complete or not at all. */
export async function copyEnvironment({ root }: LmdbEnvironment, file: string): Promise<void> {
  const directory = mkdtempSync(join(dirname(file), `.${basename(file)}-`));
  try {
    const copy = join(directory, FILE_NAME);
    await root.backup(copy, true);
    await chmod(copy, 0o600);
    await link(copy, file); // fails when the file exists
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
