import type { Names } from "../machinery/api/names.ts";
import cluster from "node:cluster";
import { existsSync } from "node:fs";
import type { Logger } from "pino";
import { UsageError } from "../machinery/command-line/settings/flag.ts";
import { tryListening } from "../machinery/command-line/listen-fault.ts";
import { stopSignal } from "../machinery/command-line/stop-signal.ts";
import { openProcessLog, openProcessOutput } from "../machinery/files/lines/process-log.ts";
import { passedSocket, serviceManager } from "../machinery/service-manager.ts";
import { sendTraces } from "../machinery/trace-export/send-traces.ts";
import { logTraces } from "../machinery/tracing/trace-log.ts";
import { lockDataDirectory } from "./data-directory/lock-data-directory.ts";
import type { ServerConfig } from "./settings/server-config.ts";
import { reloadOnHangup } from "./settings/reload-settings.ts";
import type { SettingValues } from "./settings/reload-settings.ts";
import { keepHeapSmall } from "./small-heap.ts";
import { startServer } from "./start-server.ts";
import type { StartOptions } from "./start-server.ts";
import { signetVersion } from "./signet-version.ts";
import { startWorkerPool, WorkerFailed } from "./workers/worker-pool.ts";
import type { Serving } from "./workers/worker-pool.ts";
import { runWorkerProcess } from "./workers/worker-process.ts";
import { shellWord } from "../machinery/command-line/output/shell-word.ts";

/** How long requests may continue after the first stop signal. */
const graceMilliseconds = 10_000;
/** How long the store may take to close after the grace period. Writes that wait for other processes are refused earlier. */
const closingMilliseconds = 15_000;

/** Runs a server until SIGTERM or SIGINT. Prints its address, and a line when it is ready. */
export async function serveUntilStopped(config: ServerConfig, readSettings: () => SettingValues): Promise<void> {
  keepHeapSmall();
  const log = openProcessLog(config.log);
  logTraces(log);
  await sendTraces({ log, service: { name: "signet", version: signetVersion } });
  if (cluster.isWorker) return runWorkerProcess(ofOneWorker(config), log);
  const manager = serviceManager(log);
  const socket = passedSocket();
  if (socket !== undefined && config.workers > 1) {
    throw new UsageError("--workers: workers open the port themselves: disable the unit's socket, or use one worker");
  }
  if (socket === undefined) await tryToListen(config);
  let serving: Serving | undefined;
  let levelAtStart: string | undefined;
  // Handles the signal from now on. By default it ends the process, and a start may wait for a long time.
  reloadOnHangup(readSettings(), {
    log,
    read: readSettings,
    apply(logLevel) {
      log.level = logLevel;
      if (serving === undefined) levelAtStart = logLevel;
      else serving.reload(logLevel);
    },
  });
  try {
    serving =
      config.workers === 1 ? await startAlone(config, { log, passedSocket: socket }) : await startWorkers(config, log);
  } catch (error) {
    if (!(error instanceof WorkerFailed)) throw error;
    if (!error.isReported) console.error(`signet: ${error.message}`);
    process.exitCode = error.exitCode;
    return;
  }
  if (levelAtStart !== undefined) serving.reload(levelAtStart);
  // Installed before the line that the server is ready, because its reader may stop the server immediately.
  const stop = stopSignal(endNow);
  const say = openProcessOutput();
  say(`signet ${signetVersion} (${shownNames(config.names)}) listens on ${serving.url}`);
  say(`  kubectl --kubeconfig ${shellWord(serving.kubeconfigFile)} get serviceaccounts --all-namespaces`);
  // The time since the start of the process, including the start of Node.js.
  say(`ready in ${Math.round(performance.now())} ms`);
  manager.ready();

  const signal = await stop;
  log.info({ signal }, "stopping");
  manager.stopping();
  const late = setTimeout(endNow, graceMilliseconds + closingMilliseconds);
  await serving.stop({ graceMilliseconds });
  clearTimeout(late);
  // A closed standard output is not an error for a server.
  process.exitCode = 0;
}

/**
 * Ends the process with SIGKILL. `process.exit` would wait for LMDB's thread, which may wait for ever for another process that is suspended
 * in a commit. Acknowledged writes are on disk.
 */
const endNow = (): void => void process.kill(process.pid, "SIGKILL");

/**
 * Tries to listen before a data directory is made for a server that could not start. For an existing directory it tries only the address,
 * because the directory's lock tells when another of its servers has the port.
 */
async function tryToListen({ dataDirectory, listener }: ServerConfig): Promise<void> {
  const { host, port, revocationAddress } = listener;
  const isNew = !existsSync(dataDirectory);
  await tryListening({ host, port: isNew ? port : 0 });
  if (isNew && revocationAddress !== undefined) await tryListening(revocationAddress);
}

/** This process is the server. */
async function startAlone(config: ServerConfig, options: StartOptions): Promise<Serving> {
  // A server's own timers do not keep the process alive, and a start may wait for something that does not either, such as the reader of a
  // full pipe for audit events.
  const starting = setInterval(() => {}, 2 ** 30);
  try {
    const server = await startServer(config, options);
    return { ...server, reload: () => server.readFilesAgain() };
  } finally {
    clearInterval(starting);
  }
}

/** Starts workers. This process locks the data directory, and the workers share it. */
async function startWorkers({ dataDirectory, listener, workers }: ServerConfig, log: Logger): Promise<Serving> {
  const folder = lockDataDirectory(dataDirectory);
  try {
    const { host, port } = listener;
    const pool = await startWorkerPool({ count: workers, host, port, log, graceMilliseconds });
    folder.describe(pool.url);
    return {
      ...pool,
      async stop(stopOptions) {
        await pool.stop(stopOptions);
        folder.release();
      },
    };
  } catch (error) {
    folder.release();
    throw error;
  }
}

/** A worker's share of the server's limits: connections are spread evenly over the workers. */
function ofOneWorker(config: ServerConfig): ServerConfig {
  const { listener, limits, workers } = config;
  const share = (total: number): number => Math.ceil(total / workers);
  return {
    ...config,
    listener: { ...listener, maximumConnections: share(listener.maximumConnections) },
    limits: {
      ...limits,
      maximumReads: share(limits.maximumReads),
      maximumWrites: share(limits.maximumWrites),
      maximumWatches: share(limits.maximumWatches),
    },
  };
}

/** Which names clients may use. */
const shownNames = ({ profile, other }: Names): string =>
  other === undefined ? `${profile} names` : `${profile} and ${other.profile} names`;
