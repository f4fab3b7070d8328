import { existsSync, rmSync } from "node:fs";
import type { Logger } from "pino";
import { namesFor } from "../../machinery/api/names.ts";
import type { Names } from "../../machinery/api/names.ts";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { EtcdStore } from "../../machinery/storage/backends/etcd.ts";
import { storedProfile } from "../../machinery/storage/backends/lmdb-environment.ts";
import { LmdbStore } from "../../machinery/storage/backends/lmdb.ts";
import { ShiftedStore } from "../../machinery/storage/backends/shifted.ts";
import { UnusablePrefix } from "../../machinery/storage/etcd/key-space.ts";
import type { TlsFiles } from "../../machinery/grpc/connect-socket.ts";
import { StoreUnavailable } from "../../machinery/storage/store.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { etcdTlsFiles } from "./etcd-tls-files.ts";
import type { EtcdSettings } from "./etcd-tls-files.ts";
import { administratorFile, storeDirectory } from "../data-directory/data-directory-places.ts";
import { refuseLostStore } from "../data-directory/check-data-directory.ts";
import { refuseMovedStore } from "../data-directory/moved-store.ts";
import type { ServerConfig } from "../settings/server-config.ts";
import type { StorageSettings } from "../settings/storage-settings.ts";
import { fileFailureReason } from "../../machinery/files/unusable-file.ts";
import { everyKey } from "../../machinery/storage/key-range.ts";
import { endProcess } from "../../machinery/end-process.ts";

/** Where a server's objects are. */
export type StoreLocation = Pick<ServerConfig, "dataDirectory" | "storage" | "encryption" | "names">;

interface OpenStoreOptions {
  /**
   * Called after each transaction in the data directory's store, which other processes may share. etcd notifies its clients
   * itself.
   */
  onWritten?(): void;
  /** Called when the data directory's store can't be used any more until the process restarts. */
  onBroken?(error: Error): void;
  /** Whether an empty prefix of etcd may become the store of a server that has not served yet. Default: true. */
  readonly mayBegin?: boolean;
}

/**
 * The options for a server's store: a broken store ends the process, so that its supervisor, or the process that started the workers,
 * starts a new one.
 */
export const endingProcess = (log: Pick<Logger, "fatal">): Pick<OpenStoreOptions, "onBroken"> => ({
  onBroken(error) {
    log.fatal({ err: error }, "the process ends and must be restarted");
    endProcess(1);
  },
});

/**
 * Opens the configured store: etcd, or the one in the data directory. Rejects with UsageError for invalid settings, when no member of etcd
 * can be reached, and when etcd is empty although the server has served.
 */
export async function openStore(
  { dataDirectory, storage, names: { profile } }: Omit<StoreLocation, "encryption">,
  { onWritten = () => {}, onBroken = () => {}, mayBegin = true }: OpenStoreOptions = {},
): Promise<Store> {
  if (storage.type === "own") {
    const directory = storeDirectory(dataDirectory);
    return orExplain(directory, () => {
      refuseMovedStore(dataDirectory);
      return new LmdbStore({ directory, profile, onWritten, onBroken });
    });
  }
  const store = etcdStore(storage, profile);
  return await orClose(store, async () => {
    const hasServed = existsSync(administratorFile(dataDirectory));
    const shift = await store.open({ mayBegin: mayBegin && !hasServed });
    if (mayBegin && hasServed && (await isEmpty(store)))
      throw emptyEtcdError({ dataDirectory, prefix: storage.prefix });
    return shifted(store, shift);
  });
}

const isEmpty = async (store: Store): Promise<boolean> =>
  (await store.range({ ...everyKey, limit: 1 })).entries.length === 0;

/** The error for a server that has served, when etcd is empty: the server would begin with nothing, and even forget what was revoked. */
function emptyEtcdError({
  dataDirectory,
  prefix,
}: {
  readonly dataDirectory: string;
  readonly prefix: string;
}): UsageError {
  const next = existsSync(storeDirectory(dataDirectory))
    ? "move its objects there (signet storage migrate --from lmdb --to etcd)"
    : "correct --etcd-servers or --etcd-prefix, or restore a backup (signet restore)";
  return new UsageError(
    `--etcd-servers: etcd holds nothing below ${prefix}, and the server of ${dataDirectory} has had objects: ${next}; ` +
      `or, to begin with nothing, remove ${administratorFile(dataDirectory)}`,
  );
}

/**
 * Opens the store of a server that has started before, with the names that it was written with. A command makes no store, and finds nothing
 * in a store that is not the server's. Rejects with UsageError when there is no store of a server, and as `openStore` does.
 */
export async function openExistingStore<L extends Omit<StoreLocation, "encryption">>(
  given: L,
): Promise<{ readonly store: Store; readonly location: L }> {
  const { dataDirectory, storage } = given;
  const location = storage.type === "own" ? { ...given, names: namesOfStore(dataDirectory) } : given;
  const store = await openStore(location, { mayBegin: false });
  if (storage.type === "own") return { store, location };
  try {
    if (!(await isEmpty(store))) return { store, location };
    throw new UsageError(
      `--etcd-servers: etcd holds nothing of a server below ${storage.prefix}: name the members and the --etcd-prefix that ` +
        "signet serve was given",
    );
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The names with which the directory's store was written. Throws UsageError when there is no store, or it can't be read. */
export function namesOfStore(directory: string): Names {
  const profile = profileOfStore(directory);
  if (profile === "platform" || profile === "kubernetes") return namesFor(profile);
  throw new UsageError(
    `--data-dir: ${directory} holds no store of a server: name the one that signet serve was given, and --etcd-servers if it has that`,
  );
}

/** The naming profile of the directory's own store; undefined when there is no store. Throws UsageError for a store that can't be used. */
export const profileOfStore = (directory: string): string | undefined =>
  orExplain(storeDirectory(directory), () => {
    refuseMovedStore(directory);
    refuseLostStore(directory);
    return storedProfile(storeDirectory(directory));
  });

/** Calls `use`, and throws UsageError for its errors about the store in a folder. */
function orExplain<T>(directory: string, use: () => T): T {
  try {
    return use();
  } catch (cause) {
    throw new UsageError(`--data-dir: ${unusableStoreReason(directory, cause)}`, { cause });
  }
}

/**
 * Says why a store cannot be used. LMDB's own messages name neither the file nor what to do, and the system's messages do not say what to
 * do.
 */
function unusableStoreReason(directory: string, cause: unknown): string {
  const message = messageOf(cause);
  if (cause instanceof Error && "syscall" in cause)
    return `cannot use ${"path" in cause ? String(cause.path) : directory}: ${fileFailureReason(cause)}`;
  if (message.startsWith("MDB_"))
    return `the store in ${directory} cannot be read (${message}); restore a backup (signet restore)`;
  // LMDB's errors, and the system errors that it reports, have numbers as codes.
  if (!(cause instanceof Error && "code" in cause && typeof cause.code === "number")) return message;
  return `the store in ${directory} cannot be used (${message}); see what the system logs of its disk, and try again`;
}

/** Takes a prefix of etcd out of use, because its objects are elsewhere. Rejects with UsageError. */
export async function markEtcdMoved(storage: EtcdSettings, profile: string): Promise<void> {
  const store = etcdStore(storage, profile);
  await orClose(store, () => store.markMoved());
  await store.close();
}

/** Opens etcd. Reads the certificate files now, so that faults appear at the start, and again for each connection. */
function etcdStore(storage: EtcdSettings, profile: string): EtcdStore {
  const { servers, prefix } = storage;
  const tls = (): TlsFiles => etcdTlsFiles(storage);
  tls();
  return new EtcdStore({ servers, tls, prefix, profile });
}

const shifted = (store: Store, shift: number): Store => (shift === 0 ? store : new ShiftedStore(store, shift));

async function orClose<T>(store: EtcdStore, use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    await store.close();
    // Reported as one line, because wrong settings are the most likely cause.
    if (error instanceof StoreUnavailable) {
      const next = "start etcd, or correct the URLs and the certificates for it";
      throw new UsageError(`--etcd-servers: ${error.message}; ${next}`, { cause: error });
    }
    if (error instanceof UnusablePrefix) throw new UsageError(`--etcd-prefix: ${error.message}`, { cause: error });
    throw error;
  }
}

/** A store that imports objects from elsewhere. Call `finish` or `abandon`, and then close it. */
interface ImportTarget {
  readonly store: Store;
  /**
   * Ends the import: servers may use the store from now on. Clients that resume an earlier watch or continue an earlier list must begin
   * again.
   */
  finish(): Promise<void>;
  /**
   * Removes what was written, and resolves with whether everything was removed. Never rejects. What remains makes the next attempt fail
   * with a message that says how to remove it.
   */
  abandon(): Promise<boolean>;
}

interface ImportTargetOptions {
  /** The folder in which a store of the data directory is made. Nothing with this name exists. */
  readonly directory: string;
  readonly profile: string;
  /** Every object gets a higher revision than this. */
  readonly revision: number;
}

/** Opens an empty store for objects from elsewhere: the prefix in etcd of the settings, or a new folder. Rejects with UsageError. */
export async function openImportTarget(
  storage: StorageSettings,
  { directory, profile, revision }: ImportTargetOptions,
): Promise<ImportTarget> {
  if (storage.type === "etcd") return await openEtcdForImport(storage, { profile, revision });
  const store = orExplain(directory, () => new LmdbStore({ directory, profile, firstRevision: revision }));
  return {
    store,
    finish: () => store.compact(store.latestRevision()),
    abandon: async () => {
      try {
        rmSync(directory, { recursive: true, force: true });
      } catch {
        return false; // a disk that refuses a write may also refuse the removal
      }
      return true;
    },
  };
}

/** Opens an empty prefix of etcd for objects with the given newest revision. Rejects with UsageError. */
async function openEtcdForImport(
  storage: EtcdSettings,
  { profile, revision }: { readonly profile: string; readonly revision: number },
): Promise<ImportTarget> {
  const store = etcdStore(storage, profile);
  const shift = await orClose(store, () => store.startImport(revision));
  return {
    store: shifted(store, shift),
    finish: () => store.finishImport(),
    // Fails after the end of the import, when this process may not write any more, and when etcd cannot be reached.
    abandon: () =>
      store.abandonImport().then(
        () => true,
        () => false,
      ),
  };
}
