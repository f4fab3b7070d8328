import cluster from "node:cluster";
import type { Worker } from "node:cluster";
import { once } from "node:events";
import { tryListening } from "../../machinery/command-line/listen-fault.ts";
import type { Log } from "../../machinery/logging/log.ts";
import { sleep } from "../../machinery/api/clock.ts";
import { periodically } from "../../machinery/scheduling/periodically.ts";
import { MetricsExchange } from "./metrics-exchange.ts";
import { WorkerRestarter } from "./worker-restarter.ts";
import { probeMilliseconds, WorkerWatchdog } from "./worker-watchdog.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

interface WorkerPoolOptions {
  readonly count: number;
  readonly host: string;
  /** 0 selects a free port, which the pool keeps. */
  readonly port: number;
  readonly log: Log;
  /** How long running requests may take in one worker that is stopped while the others serve. */
  readonly graceMilliseconds: number;
}

/** A running server: one process, or several workers. */
export interface Serving {
  readonly url: string;
  readonly kubeconfigFile: string;
  /** Changes the log level of the workers, and reads the changed files that settings name. */
  reload(logLevel: string): void;
  /** Stops requests, then the processes. Workers that take over five seconds longer than the grace period are killed. */
  stop(options: { readonly graceMilliseconds: number }): Promise<void>;
}

/** A worker that does not serve after this time is killed. Reading a store of several gigabytes takes less. */
const startingMilliseconds = 120_000;
/** Time after the grace period for closing the store and exiting. */
const leavingMilliseconds = 5000;

/** A worker could not start. */
export class WorkerFailed extends Error {
  override readonly name = "WorkerFailed";
  readonly exitCode: number;
  /** Whether the worker printed the reason itself. */
  readonly isReported: boolean;

  constructor(what: string, { exitCode, cause }: { readonly exitCode?: number; readonly cause?: unknown } = {}) {
    super(`a worker could not start: ${what}`, { cause });
    this.exitCode = exitCode || 1;
    this.isReported = exitCode !== undefined;
  }
}

/**
 * Starts processes that share one port: each runs this program with the same arguments. The system distributes connections, and each worker
 * accepts its own, so no connection is passed between processes and lost. This process kills workers that hang (see WorkerWatchdog),
 * replaces workers that die (see WorkerRestarter), notifies workers of the others' writes, and lets the oldest worker run the controllers.
 * Rejects with WorkerFailed when a worker cannot start.
 */
export async function startWorkerPool(options: WorkerPoolOptions): Promise<Serving> {
  const { count, host, port, log, graceMilliseconds } = options;
  cluster.setupPrimary({ execArgv: [...process.execArgv, "--disable-sigusr1"] });
  // Fails if another program listens there: the workers would share the port with it.
  const pool = new Pool({ port: await tryListening({ host, port }), log, graceMilliseconds });
  try {
    // The first worker creates CA, keys, store, default policy and kubeconfig. The others use them.
    const { url, kubeconfigFile } = await pool.add();
    await Promise.all(Array.from({ length: count - 1 }, () => pool.add()));
    return {
      url,
      kubeconfigFile,
      reload: (logLevel) => pool.reload(logLevel),
      stop: (options) => pool.stop(options),
    };
  } catch (error) {
    await pool.stop({ graceMilliseconds: 0 });
    throw error;
  }
}

type Ready = Extract<FromWorker, { type: "ready" }>;

class Pool {
  readonly #port: number;
  readonly #log: Log;
  readonly #graceMilliseconds: number;
  /** The workers that serve, in the order in which they became ready. */
  readonly #ready = new Set<Worker>();
  readonly #running = new Set<Worker>();
  /** The workers that are stopping while the others serve. */
  readonly #leaving = new Set<Worker>();
  readonly #restarts: WorkerRestarter;
  readonly #metrics = new MetricsExchange<Worker>((worker, id) => send(worker, { type: "tell-metrics", id }));
  readonly #watchdog = new WorkerWatchdog<Worker>({
    probe: (worker) => send(worker, { type: "probe" }),
    onHanging: (worker) => {
      this.#log.warn({ worker: worker.process.pid }, "a worker hangs, and is killed");
      worker.process.kill("SIGKILL");
    },
  });
  readonly #probes: { stop(): void };
  #leader: Worker | undefined;
  #isStopping = false;

  constructor({ port, log, graceMilliseconds }: Pick<WorkerPoolOptions, "port" | "log" | "graceMilliseconds">) {
    this.#port = port;
    this.#log = log;
    this.#graceMilliseconds = graceMilliseconds;
    this.#restarts = new WorkerRestarter({
      start: () => this.add(),
      sleep,
      random: Math.random,
      onFailure: (error, failures) =>
        log.error({ err: error, failures, serving: this.#ready.size }, "a worker could not be replaced, will retry"),
    });
    this.#probes = periodically({
      milliseconds: probeMilliseconds,
      task: () => this.#watchdog.probeAll(this.#ready),
      onFailure: (error) => log.error({ err: error }, "could not look after the workers"),
    });
  }

  /** Starts a worker. Resolves when it serves. From then on, the worker is replaced when it dies. */
  async add(): Promise<Ready> {
    const worker = cluster.fork();
    this.#running.add(worker);
    const { promise, resolve, reject: fail } = Promise.withResolvers<Ready>();
    const late = setTimeout(() => {
      fail(new WorkerFailed(`it did not serve within ${startingMilliseconds / 1000} seconds`));
      worker.process.kill("SIGKILL");
    }, startingMilliseconds);
    worker.on("message", (message: FromWorker) => {
      if (message.type !== "ready") return this.#receive(worker, message);
      this.#ready.add(worker);
      this.#chooseLeader();
      resolve(message);
    });
    // The system had no process or file descriptor left, so there will be no exit event.
    worker.on("error", (cause: Error) => {
      if (worker.process.pid === undefined) this.#running.delete(worker);
      fail(new WorkerFailed(cause.message, { cause }));
    });
    let readyAt = 0;
    worker.once("exit", (code: number | null, signal: NodeJS.Signals | null) => {
      this.#running.delete(worker);
      this.#metrics.ended(worker);
      fail(new WorkerFailed(`it ended with ${signal ?? `exit code ${code}`}`, code === null ? {} : { exitCode: code }));
      if (!this.#ready.delete(worker) || this.#isStopping) return;
      if (!this.#leaving.delete(worker)) this.#died(worker, { code, signal, readyAt });
      this.#continueWithout(worker);
    });
    send(worker, { type: "serve", port: this.#port });
    try {
      const ready = await promise;
      readyAt = performance.now();
      return ready;
    } finally {
      clearTimeout(late);
    }
  }

  #receive(worker: Worker, message: Exclude<FromWorker, Ready>): void {
    switch (message.type) {
      case "written":
        return this.#notifyOthers(worker);
      case "alive":
        return this.#watchdog.answered(worker);
      case "asks-to-stop":
        return this.#stopOne(worker);
      case "metrics":
        return this.#metrics.answered(worker, message);
      case "collect-metrics":
        return void this.#collectMetrics(worker, message);
    }
  }

  #died(
    worker: Worker,
    {
      code,
      signal,
      readyAt,
    }: { readonly code: number | null; readonly signal: NodeJS.Signals | null; readonly readyAt: number },
  ): void {
    this.#log.warn({ worker: worker.process.pid, code, signal }, "a worker died and is replaced");
    this.#restarts.ended({ servedMilliseconds: performance.now() - readyAt });
  }

  #continueWithout(worker: Worker): void {
    if (this.#leader === worker) this.#leader = undefined;
    this.#chooseLeader();
    // Its last writes may be on disk without a notification to the others.
    this.#notifyOthers(worker);
  }

  /** Stops one worker. A new worker replaces it while it finishes its running requests. */
  #stopOne(worker: Worker): void {
    if (this.#isStopping || this.#leaving.has(worker)) return;
    this.#leaving.add(worker);
    this.#log.info({ worker: worker.process.pid }, "a worker stops and is replaced");
    this.#restarts.ended({ servedMilliseconds: Number.POSITIVE_INFINITY });
    void this.#end(worker, this.#graceMilliseconds);
  }

  async stop({ graceMilliseconds }: { readonly graceMilliseconds: number }): Promise<void> {
    this.#isStopping = true;
    this.#probes.stop();
    this.#restarts.stop();
    await Promise.all([...this.#running].map((worker) => this.#end(worker, graceMilliseconds)));
  }

  async #end(worker: Worker, graceMilliseconds: number): Promise<void> {
    const ended = once(worker, "exit");
    if (this.#ready.has(worker)) send(worker, { type: "stop", graceMilliseconds });
    // A worker that does not serve yet has no requests, and may not receive messages yet.
    else worker.process.kill("SIGKILL");
    const late = setTimeout(() => worker.process.kill("SIGKILL"), graceMilliseconds + leavingMilliseconds);
    await ended;
    clearTimeout(late);
  }

  reload(logLevel: string): void {
    for (const worker of this.#ready) send(worker, { type: "reload", logLevel });
  }

  #chooseLeader(): void {
    if (this.#leader !== undefined || this.#isStopping) return;
    const [oldest] = this.#ready;
    if (oldest === undefined) return;
    this.#leader = oldest;
    send(oldest, { type: "run-loops" });
  }

  async #collectMetrics(
    asking: Worker,
    { id, text }: FromWorker & { readonly type: "collect-metrics" },
  ): Promise<void> {
    const others = [...this.#ready].filter((worker) => worker !== asking);
    const texts = await this.#metrics.collect(others, { asking, text });
    send(asking, { type: "collected-metrics", id, texts });
  }

  #notifyOthers(writer: Worker): void {
    for (const worker of this.#ready) if (worker !== writer) send(worker, { type: "written" });
  }
}

/** Sends a message. A dying worker cannot receive it, but its exit event is handled. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}
