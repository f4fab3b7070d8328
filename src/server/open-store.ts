import { UsageError } from "../machinery/command-line/flag.ts";
import type { ServeOptions } from "./serve-flags.ts";
import { EtcdStore } from "../machinery/storage/backends/etcd.ts";
import { LmdbStore } from "../machinery/storage/backends/lmdb.ts";
import type { TlsFiles } from "../machinery/storage/etcd/grpc-channel.ts";
import { StoreUnavailable } from "../machinery/storage/store.ts";
import type { Store } from "../machinery/storage/store.ts";
import { storeDirectory } from "./lock-data-directory.ts";
import { readSettingsFile } from "../machinery/command-line/settings-files.ts";

export const usesEtcd = (options: ServeOptions): boolean => options["etcd-servers"].length > 0;

/**
 * The store of the settings: etcd, or the data directory's own. Rejects with UsageError for settings that can't be used,
 * also when no member of etcd can be reached. `onWritten` is called after each transaction in the data directory's
 * store, which other processes may share: etcd tells its clients by itself.
 */
export async function openStore(options: ServeOptions, onWritten: () => void = () => {}): Promise<Store> {
  const { profile } = options;
  if (!usesEtcd(options)) {
    try {
      return new LmdbStore({ directory: storeDirectory(options["data-dir"]), profile, onWritten });
    } catch (cause) {
      throw new UsageError(`--data-dir: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  }
  const tls = etcdTls(options);
  const store = new EtcdStore({ servers: etcdServers(options), tls, prefix: etcdPrefix(options), profile });
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

function etcdServers(options: ServeOptions): string[] {
  const servers = options["etcd-servers"].map((server) => {
    const url = URL.canParse(server) ? new URL(server) : undefined;
    if (url === undefined || !["http:", "https:"].includes(url.protocol) || url.pathname !== "/" || url.port === "") {
      throw new UsageError(`--etcd-servers: ${JSON.stringify(server)} is not http(s)://host:port`);
    }
    return url.origin;
  });
  if (new Set(servers.map((server) => new URL(server).protocol)).size > 1) {
    throw new UsageError("--etcd-servers: http and https do not mix");
  }
  return servers;
}

function etcdPrefix(options: ServeOptions): string {
  const prefix = options["etcd-prefix"].replace(/\/+$/, "");
  if (!/^\/[\w./-]+$/.test(prefix))
    throw new UsageError("--etcd-prefix: a path of letters and digits, such as /signet");
  return prefix;
}

/** Reads the files once, so that faults show at the start; then at each connection. */
function etcdTls(options: ServeOptions): () => TlsFiles {
  const files = { ca: "etcd-cafile", cert: "etcd-certfile", key: "etcd-keyfile" } as const;
  if ((options["etcd-certfile"] === undefined) !== (options["etcd-keyfile"] === undefined)) {
    throw new UsageError("--etcd-certfile and --etcd-keyfile go together");
  }
  const read = (): TlsFiles =>
    Object.fromEntries(
      Object.entries(files).flatMap(([part, flag]) => {
        const file = options[flag];
        return file === undefined ? [] : [[part, readSettingsFile(flag, file)]];
      }),
    );
  read();
  return read;
}
