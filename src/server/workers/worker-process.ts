import type { Logger } from "pino";
import { joinFolder } from "../../machinery/files/owned-folder.ts";
import { openStore } from "../open-store.ts";
import type { ServerConfig } from "../server-config.ts";
import { startServer } from "../start-server.ts";
import type { RunningServer } from "../start-server.ts";
import type { Store } from "../../machinery/storage/store.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

/**
 * One of several processes that serve one data directory on one port. It does what the process that started it says, and
 * ends with it. What other workers write reaches it through the store alone; messages only make that sooner.
 */
export async function runWorkerProcess(config: ServerConfig, log: Logger): Promise<void> {
  // A terminal signals the whole group of processes: stopping is for the first of them to say.
  process.on("SIGTERM", () => {}).on("SIGINT", () => {});
  // Where nobody hears it any more, this process is about to end too.
  const tell = (message: FromWorker): void => void process.send?.(message, undefined, {}, () => {});

  let server: RunningServer | undefined;
  const stop = async (graceMilliseconds: number): Promise<void> => {
    // Who does not serve yet has nothing to end.
    if (server === undefined) process.exit(0);
    const stopping = server;
    server = undefined;
    try {
      await stopping.stop({ graceMilliseconds });
      process.disconnect?.();
    } catch (error) {
      log.error({ err: error }, "could not stop in order");
      process.exit(1);
    }
  };
  const { promise: portToServe, resolve: serveOn } = Promise.withResolvers<number>();
  // From the beginning: no message may come before its listener.
  process.on("message", (message: ToWorker) => {
    if (message.type === "serve") serveOn(message.port);
    else if (message.type === "stop") void stop(message.graceMilliseconds);
    else if (message.type === "run-loops") server?.startLoops();
    else if (message.type === "written") void look(server?.store);
  });
  const port = await portToServe;
  try {
    const folder = joinFolder(config.dataDirectory);
    const store = await openStore(config, () => tell({ type: "written" }));
    server = await startServer(
      { ...config, listener: { ...config.listener, port } },
      { log, folder, store, loops: "when told", isStoreShared: true, isPortShared: true },
    );
  } catch (error) {
    // The channel must not keep a process that has nothing to do; its exit code is what the other one hears.
    process.channel?.unref();
    throw error;
  }
  tell({ type: "ready", url: server.url, kubeconfigFile: server.kubeconfigFile });
}

/** Brings the watches as far as the store is; what is wrong with it is told to whoever asks it next. */
async function look(store: Store | undefined): Promise<void> {
  try {
    await store?.latestRevision();
    store?.notify();
  } catch {
    // See above.
  }
}
