import { once } from "node:events";
import type { Logger } from "pino";
import type { ServeOptions } from "../cli/serve-flags.ts";
import { joinFolder } from "../files/owned-folder.ts";
import { openStore } from "./open-store.ts";
import { startServer } from "./start-server.ts";
import type { RunningServer } from "./start-server.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

/**
 * One of several processes that serve one data directory on one port. It does what the process that started it says, and
 * ends with it. What other workers write reaches it through the store alone; messages only make that sooner.
 */
export async function runWorkerProcess(options: ServeOptions, log: Logger): Promise<void> {
  // A terminal signals the whole group of processes: stopping is for the first of them to say.
  process.on("SIGTERM", () => {}).on("SIGINT", () => {});
  // Where nobody hears it any more, this process is about to end too.
  const tell = (message: FromWorker): void => void process.send?.(message, undefined, {}, () => {});

  const [first] = (await once(process, "message")) as [ToWorker]; // one program on both sides
  if (first.type !== "serve") return process.disconnect?.();
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
  process.on("message", (message: ToWorker) => {
    if (message.type === "stop") void stop(message.graceMilliseconds);
    else if (message.type === "run-loops") server?.startLoops();
    // Looking wakes the watches that have not come as far.
    else if (message.type === "written") void server?.store.latestRevision();
  });
  try {
    const folder = joinFolder(options["data-dir"]);
    const store = await openStore(options, () => tell({ type: "written" }));
    server = await startServer(
      { ...options, "secure-port": first.port },
      { log, folder, store, loops: "when told", isStoreShared: true, isPortShared: true },
    );
  } catch (error) {
    // The channel must not keep a process that has nothing to do; its exit code is what the other one hears.
    process.channel?.unref();
    throw error;
  }
  tell({ type: "ready", url: server.url, kubeconfigFile: server.kubeconfigFile });
}
