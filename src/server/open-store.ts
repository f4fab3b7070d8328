import { UsageError } from "../machinery/command-line/flag.ts";
import { EtcdStore } from "../machinery/storage/backends/etcd.ts";
import { LmdbStore } from "../machinery/storage/backends/lmdb.ts";
import type { TlsFiles } from "../machinery/storage/etcd/grpc-channel.ts";
import { StoreUnavailable } from "../machinery/storage/store.ts";
import type { Store } from "../machinery/storage/store.ts";
import { storeDirectory } from "./lock-data-directory.ts";
import { readSettingsFile } from "../machinery/command-line/settings-files.ts";
import type { ServerConfig } from "./server-config.ts";
import type { StorageSettings } from "./storage-settings.ts";

/**
 * The store of the settings: etcd, or the data directory's own. Rejects with UsageError for settings that can't be used,
 * also when no member of etcd can be reached. `onWritten` is called after each transaction in the data directory's
 * store, which other processes may share: etcd tells its clients by itself.
 */
export async function openStore(
  { dataDirectory, storage, names: { profile } }: ServerConfig,
  onWritten: () => void = () => {},
): Promise<Store> {
  if (storage.type === "own") {
    try {
      return new LmdbStore({ directory: storeDirectory(dataDirectory), profile, onWritten });
    } catch (cause) {
      throw new UsageError(`--data-dir: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  }
  const { servers, prefix } = storage;
  const store = new EtcdStore({ servers, tls: etcdTls(storage), prefix, profile });
  try {
    await store.open();
    return store;
  } catch (error) {
    await store.close();
    // One line: whoever starts the server looks at the settings first.
    if (error instanceof StoreUnavailable) throw new UsageError(`--etcd-servers: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Reads the files once, so that faults show at the start; then at each connection. */
function etcdTls({
  authorityFile,
  clientCertificate: pair,
}: Extract<StorageSettings, { type: "etcd" }>): () => TlsFiles {
  const read = (): TlsFiles => ({
    ...(authorityFile !== undefined && { ca: readSettingsFile("etcd-cafile", authorityFile) }),
    ...(pair !== undefined && {
      cert: readSettingsFile(pair.certificateFlag, pair.certificateFile),
      key: readSettingsFile(pair.keyFlag, pair.keyFile),
    }),
  });
  read();
  return read;
}
