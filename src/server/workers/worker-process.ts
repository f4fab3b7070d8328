import type { Logger } from "pino";
import { joinFolder } from "../../machinery/files/folders/owned-folder.ts";
import { endingProcess, openStore } from "../store/open-store.ts";
import type { ServerConfig } from "../settings/server-config.ts";
import { startServer } from "../start-server.ts";
import type { RunningServer } from "../start-server.ts";
import type { Store } from "../../machinery/storage/store.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";
import { endProcess } from "../../machinery/end-process.ts";

/**
 * Runs one of several processes that serve one data directory on one port. The process that started it controls it, and it ends together
 * with that process. It learns of the writes of other workers only from the store; messages only make that faster.
 */
export async function runWorkerProcess(config: ServerConfig, log: Logger): Promise<void> {
  // Ignores errors: when the parent has ended, this process is about to end too.
  const send = (message: FromWorker): void => void process.send?.(message, undefined, {}, () => {});
  // A terminal signals the whole process group, and a service manager may do so too. The parent process decides what to do.
  process
    .on("SIGTERM", () => send({ type: "asks-to-stop" }))
    .on("SIGINT", () => {})
    .on("SIGHUP", () => {});

  let server: RunningServer | undefined;
  let isStopping = false;
  const stop = async (graceMilliseconds: number): Promise<void> => {
    // A worker that stops while the others serve is told again when all of them stop. Its running requests keep their time.
    if (isStopping) return;
    isStopping = true;
    // A worker that does not serve yet has nothing to stop.
    if (server === undefined) endProcess(0);
    const stopping = server;
    server = undefined;
    try {
      await stopping.stop({ graceMilliseconds });
      process.disconnect?.();
    } catch (error) {
      log.error({ err: error }, "could not stop cleanly");
      endProcess(1);
    }
  };
  const others = new OtherMetrics(send);
  const { promise: portToServe, resolve: serveOn } = Promise.withResolvers<number>();
  // Installed first, so that no message arrives earlier.
  process.on("message", (message: ToWorker) => {
    switch (message.type) {
      case "serve":
        return serveOn(message.port);
      case "probe":
        return send({ type: "alive" });
      case "stop":
        return void stop(message.graceMilliseconds);
      case "run-loops":
        return server?.startLoops();
      case "reload":
        log.level = message.logLevel;
        return server?.readFilesAgain();
      case "tell-metrics":
        return void server?.metricsText().then((text) => send({ type: "metrics", id: message.id, text }));
      case "collected-metrics":
        return others.collected(message);
      case "written":
        return void catchUp(server?.store);
    }
  });
  server = await serve(config, { port: await portToServe, log, send, others });
  send({ type: "ready", url: server.url, kubeconfigFile: server.kubeconfigFile });
}

interface WorkerParts {
  readonly port: number;
  readonly log: Logger;
  readonly send: (message: FromWorker) => void;
  readonly others: OtherMetrics;
}

/** Starts the server of a worker. Rejects as `startServer` does. */
async function serve(config: ServerConfig, { port, log, send, others }: WorkerParts): Promise<RunningServer> {
  try {
    const folder = joinFolder(config.dataDirectory);
    const store = await openStore(config, { ...endingProcess(log), onWritten: () => send({ type: "written" }) });
    return await startServer(
      { ...config, listener: { ...config.listener, port } },
      {
        log,
        folder,
        store,
        loops: "when told",
        isPortShared: true,
        otherMetrics: (own) => others.collect(own),
      },
    );
  } catch (error) {
    // The channel must not keep a process alive that has nothing to do. The parent reads its exit code.
    process.channel?.unref();
    throw error;
  }
}

/**
 * Lets watches deliver what other processes have written. Ignores an error of the store, because the next request that reads the store
 * reports it.
 */
async function catchUp(store: Store | undefined): Promise<void> {
  try {
    await store?.latestRevision();
    store?.catchUp();
  } catch {
    // The next request reports it.
  }
}

/** Asks the process that started this one for the metrics of the other workers. */
class OtherMetrics {
  readonly #send: (message: FromWorker) => void;
  readonly #asked = new Map<number, (texts: readonly string[]) => void>();
  #nextId = 1;

  constructor(send: (message: FromWorker) => void) {
    this.#send = send;
  }

  collect(text: string): Promise<readonly string[]> {
    const id = this.#nextId++;
    const { promise, resolve } = Promise.withResolvers<readonly string[]>();
    this.#asked.set(id, resolve);
    this.#send({ type: "collect-metrics", id, text });
    return promise;
  }

  collected({ id, texts }: ToWorker & { readonly type: "collected-metrics" }): void {
    this.#asked.get(id)?.(texts);
    this.#asked.delete(id);
  }
}
