import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startServerProcess } from "../../../bench/processes/server-process.ts";
import type { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { clientOf } from "../client-of.ts";
import type { SeededRandom } from "../seeded-random.ts";

/** What a history is made of: something that serves one API in several places, and what may happen to it. */
export interface HistoryTarget {
  readonly name: string;
  /** A client with its own connection. The n-th client is at place n, if the target can distinguish places. */
  connect(index: number): ApiClient;
  /** One fault; resolves when what it broke has come back. */
  fault(random: SeededRandom): Promise<void>;
  stop(): Promise<void>;
}

/** Worker processes on one LMDB file. The fault is SIGKILL of one of them. */
export async function workersTarget(count: number): Promise<HistoryTarget> {
  const scratch = mkdtempSync(join(tmpdir(), "signet-history-"));
  const server = await startServerProcess(join(scratch, "data"), {
    flags: [`--workers=${count}`, "--log-level=error"],
  });
  return {
    name: `${count} workers on LMDB`,
    connect: () => clientOf(server),
    async fault(random) {
      const workers = server.workerIds().sort((one, other) => one - other);
      // Usually the oldest, which certainly serves. A younger one may be killed during its start.
      const victim = workers[random.next() < 0.8 ? 0 : random.integer(0, workers.length - 1)] ?? 0;
      process.kill(victim, "SIGKILL");
      while (server.workerIds().includes(victim) || listeners(server.url) < count) await delay(20);
    },
    async stop() {
      await server.stop();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

/** How many sockets listen on a URL's port: each worker that serves has one. */
function listeners(url: string): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, "0");
  return readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .filter((line) => line.includes(`:${port} 00000000:0000 0A`)).length;
}
