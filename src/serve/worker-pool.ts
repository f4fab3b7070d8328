import cluster from "node:cluster";
import type { Worker } from "node:cluster";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

export interface WorkerPoolOptions {
  readonly count: number;
  readonly host: string;
  /** 0: a free one is picked, and kept for as long as the pool lives. */
  readonly port: number;
  readonly log: Logger;
}

export interface WorkerPool {
  readonly url: string;
  readonly kubeconfigFile: string;
  /** Ends all workers; those that take longer than the grace and a little more are killed. */
  stop(options: { readonly graceMilliseconds: number }): Promise<void>;
}

/** A worker that died is replaced at once, but no more often than this. */
const respawnMilliseconds = 500;
/** After the grace: for closing the store and leaving. */
const leavingMilliseconds = 5000;

/** A worker that can't start: it has said why, and this is its exit code. */
export class WorkerFailed extends Error {
  readonly exitCode: number;
  constructor(exitCode: number) {
    super(`a worker ended with exit code ${exitCode}`);
    this.name = "WorkerFailed";
    this.exitCode = exitCode;
  }
}

/**
 * Starts processes that serve one port, this program with the same arguments each. Each accepts connections by itself, and
 * the system spreads them: none is handed on, and so none is lost between two processes. This one replaces workers that
 * die, tells the others of each one's writes, and lets one of them, the oldest, run the loops. Rejects with WorkerFailed when one can't start.
 */
export async function startWorkerPool({ count, host, port, log }: WorkerPoolOptions): Promise<WorkerPool> {
  const pool = new Pool(await freePort({ host, port }), log);
  try {
    // The first makes what is made once: CA, keys, store, default policy, kubeconfig. The others find it.
    const { url, kubeconfigFile } = await pool.add();
    await Promise.all(Array.from({ length: count - 1 }, () => pool.add()));
    return { url, kubeconfigFile, stop: (options) => pool.stop(options) };
  } catch (error) {
    await pool.stop({ graceMilliseconds: 0 });
    throw error;
  }
}

type Ready = Extract<FromWorker, { type: "ready" }>;

class Pool {
  readonly #port: number;
  readonly #log: Logger;
  /** In the order in which they became ready. */
  readonly #ready = new Set<Worker>();
  #leader: Worker | undefined;
  #isStopping = false;

  constructor(port: number, log: Logger) {
    this.#port = port;
    this.#log = log;
  }

  /** Starts a worker; resolves when it serves. From then on it is replaced when it dies. */
  add(): Promise<Ready> {
    const worker = cluster.fork();
    const startedAt = performance.now();
    send(worker, { type: "serve", port: this.#port });
    return new Promise((resolve, reject) => {
      worker.on("message", (message: FromWorker) => {
        if (message.type === "written") this.#tellOthers(worker);
        else {
          this.#ready.add(worker);
          this.#chooseLeader();
          resolve(message);
        }
      });
      worker.once("exit", (code: number | null, signal: NodeJS.Signals | null) => {
        const wasReady = this.#ready.delete(worker);
        if (this.#isStopping) return;
        if (!wasReady) return reject(new WorkerFailed(code ?? 1));
        this.#log.warn({ worker: worker.process.pid, code, signal }, "a worker died and is replaced");
        if (this.#leader === worker) this.#leader = undefined;
        this.#chooseLeader();
        // Its last writes may be on disk and nobody told.
        this.#tellOthers(worker);
        void this.#replace(startedAt);
      });
    });
  }

  async stop({ graceMilliseconds }: { readonly graceMilliseconds: number }): Promise<void> {
    this.#isStopping = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    const ended = workers.map((worker) => once(worker, "exit"));
    for (const worker of workers) send(worker, { type: "stop", graceMilliseconds });
    const late = setTimeout(() => {
      for (const worker of workers) worker.process.kill("SIGKILL");
    }, graceMilliseconds + leavingMilliseconds);
    await Promise.all(ended);
    clearTimeout(late);
  }

  async #replace(startedAt: number): Promise<void> {
    let since = startedAt;
    for (;;) {
      await delay(Math.max(0, since + respawnMilliseconds - performance.now()));
      if (this.#isStopping) return;
      since = performance.now();
      try {
        await this.add();
        return;
      } catch (error) {
        this.#log.error({ err: error }, "a worker could not be replaced, will retry");
      }
    }
  }

  #chooseLeader(): void {
    if (this.#leader !== undefined || this.#isStopping) return;
    const [oldest] = this.#ready;
    if (oldest === undefined) return;
    this.#leader = oldest;
    send(oldest, { type: "run-loops" });
  }

  #tellOthers(writer: Worker): void {
    for (const worker of this.#ready) if (worker !== writer) send(worker, { type: "written" });
  }
}

/** A worker that is just dying can't be told anything any more: its exit is what counts. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}

/** The port itself, or a free one for 0. Rejects when somebody else listens there: workers would share it with him. */
async function freePort(address: { readonly host: string; readonly port: number }): Promise<number> {
  const probe = createServer().listen(address);
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo; // it listens on TCP
  probe.close();
  await once(probe, "close");
  return port;
}
