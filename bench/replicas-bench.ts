/**
 * Measures replicas on one etcd: writes and consistent reads a second of all together, as shares of what etcd itself does in
 * the same run. etcd, the replicas and this load run on the same computer and share its processors, so `CPU ms each` (of
 * etcd, and of the replicas) says more than the times. Needs the program `etcd`.
 *
 *   npm run bench:replicas -- [--replicas N] [--members N] [--seconds N] [--warm-up-seconds N]
 */
import { needPrograms } from "../tools/needed-programs.ts";
import { programFlags, wholeNumber } from "../tools/program-flags.ts";
import { EtcdStore } from "../src/machinery/storage/backends/etcd.ts";
import { startEtcd } from "../test/machinery/storage/etcd/etcd-process.ts";
import { etcdCpuSeconds, startEtcdReplicas } from "./processes/etcd-replicas.ts";
import type { EtcdReplicas } from "./processes/etcd-replicas.ts";
import { markdownTable } from "./report/markdown-table.ts";
import { stolenSeconds } from "./processes/process-cpu.ts";
import { accounts, serviceAccount } from "./load/workloads.ts";

const {
  replicas: count,
  members,
  seconds: measuredSeconds,
  "warm-up-seconds": warmUpSeconds,
} = programFlags(import.meta.filename, {
  replicas: wholeNumber(3),
  members: wholeNumber(1),
  seconds: wholeNumber(10),
  "warm-up-seconds": wholeNumber(3),
});
needPrograms(import.meta.filename, ["etcd"]);
const inFlight = 64;
const valueBytes = 400; // a stored account of this bench

const etcd = await startEtcd({ size: members, heartbeatMilliseconds: 100 });
let replicas: EtcdReplicas | undefined;

const replicaCpu = (): number =>
  (replicas?.servers ?? []).map((server) => server.cpuSeconds()).reduce((sum, one) => sum + one, 0);

const rows: string[][] = [];
/** The count of all operations, so that each has a unique number. */
let started = 0;

/** Repeats an operation with `inFlight` at a time, and returns how many succeeded. */
async function repeat(seconds: number, operation: (index: number) => Promise<void>): Promise<number> {
  const first = started;
  const until = performance.now() + seconds * 1000;
  const lane = async (): Promise<void> => {
    while (performance.now() < until) await operation(started++);
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return started - first;
}

/** Measures how often a second an operation succeeds, after a warm-up that compiles the code. */
async function measure(what: string, operation: (index: number) => Promise<void>): Promise<void> {
  await repeat(warmUpSeconds, operation);
  const before = { etcd: etcdCpuSeconds(etcd), replicas: replicaCpu(), stolen: stolenSeconds() };
  const from = performance.now();
  const succeeded = await repeat(measuredSeconds, operation);
  const seconds = (performance.now() - from) / 1000;
  const each = (cpuSeconds: number): string => ((cpuSeconds * 1000) / succeeded).toFixed(2);
  rows.push([
    what,
    (succeeded / seconds).toFixed(0),
    each(etcdCpuSeconds(etcd) - before.etcd),
    each(replicaCpu() - before.replicas),
    (stolenSeconds() - before.stolen).toFixed(1),
  ]);
}

try {
  // The store is not opened, so each write is a transaction, as in etcd's own benchmark.
  const store = new EtcdStore({ servers: etcd.urls, prefix: "/bench", profile: "platform" });
  const value = Buffer.alloc(valueBytes, "x");
  await measure("etcd alone: transactions that create a key", async (index) => {
    await store.write({ key: `/registry/bench/${index}`, value, expectedRevision: 0 });
  });
  await measure("etcd alone: linearizable reads of a revision", async (index) => {
    await store.range({ start: `/registry/bench/${index % 100}`, end: `/registry/bench/${index % 100}\0`, limit: 1 });
  });
  await store.close();

  const running = await startEtcdReplicas(etcd, { count });
  replicas = running;
  const name = (what: string): string => `${count} ${count === 1 ? "replica" : "replicas"}: ${what}`;
  const call = (index: number, method: string, path: string, body?: unknown): Promise<void> =>
    running.call(index % count, method, path, body);
  let made = 0;
  await measure(name("accounts created"), (index) =>
    call(index, "POST", accounts, serviceAccount({ name: `made-${made++}` })),
  );
  await measure(name("accounts changed"), (index) =>
    call(index, "PATCH", `${accounts}/made-${index % made}`, { metadata: { labels: { changed: String(index) } } }),
  );
  await measure(name("consistent reads of one account"), (index) => call(index, "GET", `${accounts}/bench`));
  await measure(name("consistent lists of 500"), (index) => call(index, "GET", `${accounts}?limit=500`));
  console.log(markdownTable(["what", "a second", "CPU ms each, etcd", "CPU ms each, replicas", "stolen s"], rows));
} finally {
  await replicas?.stop();
  await etcd.stop();
}
