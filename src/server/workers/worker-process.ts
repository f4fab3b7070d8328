import type { Logger } from "pino";
import { joinFolder } from "../../machinery/files/owned-folder.ts";
import { openStore } from "../open-store.ts";
import type { ServerConfig } from "../server-config.ts";
import { startServer } from "../start-server.ts";
import type { RunningServer } from "../start-server.ts";
import type { Store } from "../../machinery/storage/store.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

/**
 * Runs one of several processes that serve one data directory on one port. The process that started it controls it, and
 * it ends with that process. It reads the writes of other workers only from the store; messages only make that faster.
 */
export async function runWorkerProcess(config: ServerConfig, log: Logger): Promise<void> {
  // When the parent is gone, this process is about to end too.
  const tell = (message: FromWorker): void => void process.send?.(message, undefined, {}, () => {});
  // A terminal signals the whole process group, and a service manager may too: the first process decides.
  process
    .on("SIGTERM", () => tell({ type: "asks-to-stop" }))
    .on("SIGINT", () => {})
    .on("SIGHUP", () => {});

  let server: RunningServer | undefined;
  const stop = async (graceMilliseconds: number): Promise<void> => {
    // A worker that does not serve yet has nothing to stop.
    if (server === undefined) process.exit(0);
    const stopping = server;
    server = undefined;
    try {
      await stopping.stop({ graceMilliseconds });
      process.disconnect?.();
    } catch (error) {
      log.error({ err: error }, "could not stop cleanly");
      process.exit(1);
    }
  };
  const wanted = new Map<number, (texts: readonly string[]) => void>();
  let nextId = 1;
  const otherMetrics = (): Promise<readonly string[]> => {
    const id = nextId++;
    const { promise, resolve } = Promise.withResolvers<readonly string[]>();
    wanted.set(id, resolve);
    tell({ type: "collect-metrics", id });
    return promise;
  };
  const { promise: portToServe, resolve: serveOn } = Promise.withResolvers<number>();
  // Listen from the start: no message may arrive earlier.
  process.on("message", (message: ToWorker) => {
    if (message.type === "serve") serveOn(message.port);
    else if (message.type === "stop") void stop(message.graceMilliseconds);
    else if (message.type === "run-loops") server?.startLoops();
    else if (message.type === "reload") {
      log.level = message.logLevel;
      server?.readFilesAgain();
    } else if (message.type === "tell-metrics") {
      void server?.metricsText().then((text) => tell({ type: "metrics", id: message.id, text }));
    } else if (message.type === "collected-metrics") {
      wanted.get(message.id)?.(message.texts);
      wanted.delete(message.id);
    } else if (message.type === "written") void look(server?.store);
  });
  const port = await portToServe;
  try {
    const folder = joinFolder(config.dataDirectory);
    const store = await openStore(config, () => tell({ type: "written" }));
    server = await startServer(
      { ...config, listener: { ...config.listener, port } },
      { log, folder, store, loops: "when told", isStoreShared: true, isPortShared: true, otherMetrics },
    );
  } catch (error) {
    // The channel must not keep a process alive that has nothing to do. The parent reads its exit code.
    process.channel?.unref();
    throw error;
  }
  tell({ type: "ready", url: server.url, kubeconfigFile: server.kubeconfigFile });
}

/** Makes watches read the store. Its errors appear in the next request that reads it. */
async function look(store: Store | undefined): Promise<void> {
  try {
    await store?.latestRevision();
    store?.notify();
  } catch {
    // See above.
  }
}
