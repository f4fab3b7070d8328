/**
 * Measures replicas on one etcd: writes and consistent reads a second of all together, as shares of what etcd itself does in
 * the same run. etcd, the replicas and this load run on the same computer and share its processors, so `CPU ms each` (of
 * etcd, and of the replicas) says more than the times. Needs the program `etcd`.
 *
 *   npm run bench:replicas -- [--replicas N] [--members N] [--seconds N]
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { EtcdStore } from "../src/machinery/storage/backends/etcd.ts";
import { startEtcd } from "../test/machinery/storage/etcd-process.ts";
import { Http2Caller } from "./http2-caller.ts";
import { table } from "./markdown-report.ts";
import { processCpuSeconds, stolenSeconds } from "./process-cpu.ts";
import { adminToken, startServerProcess } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { accounts, prepareWorkloads, serviceAccount } from "./workloads.ts";

const { values: options } = parseArgs({
  options: {
    replicas: { type: "string", default: "3" },
    members: { type: "string", default: "1" },
    seconds: { type: "string", default: "10" },
  },
});
const inFlight = 64;
const valueBytes = 400; // a stored account of this bench

const scratch = mkdtempSync(join(tmpdir(), "signet-replicas-"));
const etcd = await startEtcd({ size: Number(options.members), heartbeatMilliseconds: 100 });
const replicas: ServerProcess[] = [];

const cpuOf = (processes: readonly { readonly pid?: number | undefined }[]): number =>
  processes.map(({ pid }) => processCpuSeconds(pid ?? 0)).reduce((sum, one) => sum + one, 0);
const etcdCpu = (): number => cpuOf(etcd.members.map((member) => member.process()));
const replicaCpu = (): number => cpuOf(replicas.map((replica) => replica.process));

const rows: string[][] = [];

/** Repeats an operation with `inFlight` at a time, and notes how often a second it succeeded. */
async function measure(what: string, operation: (index: number) => Promise<void>): Promise<void> {
  const before = { etcd: etcdCpu(), replicas: replicaCpu(), stolen: stolenSeconds() };
  const from = performance.now();
  const until = from + Number(options.seconds) * 1000;
  let started = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() < until) await operation(started++);
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const seconds = (performance.now() - from) / 1000;
  const each = (cpuSeconds: number): string => ((cpuSeconds * 1000) / started).toFixed(2);
  rows.push([
    what,
    (started / seconds).toFixed(0),
    each(etcdCpu() - before.etcd),
    each(replicaCpu() - before.replicas),
    (stolenSeconds() - before.stolen).toFixed(1),
  ]);
}

/** Starts the replicas one after the other. All have the keys of the first one. */
async function startReplicas(): Promise<void> {
  for (let index = 0; index < Number(options.replicas); index++) {
    const data = join(scratch, `replica-${index}`, "data");
    mkdirSync(data, { recursive: true, mode: 0o700 });
    if (index > 0) {
      const first = join(scratch, "replica-0", "data");
      const keys = readdirSync(first).filter((file) => /\.(?:crt|key)$/.test(file));
      for (const file of keys) cpSync(join(first, file), join(data, file));
    }
    replicas.push(await startServerProcess(data, { flags: [`--etcd-servers=${etcd.urls.join(",")}`] }));
  }
}

try {
  const store = new EtcdStore({ servers: etcd.urls, prefix: "/bench", profile: "platform" });
  await store.open();
  const value = Buffer.alloc(valueBytes, "x");
  await measure("etcd alone: transactions that create a key", async (index) => {
    await store.write({ key: `/registry/bench/${index}`, value, expectedRevision: 0 });
  });
  await measure("etcd alone: linearizable reads of a revision", async (index) => {
    await store.range({ start: `/registry/bench/${index % 100}`, end: `/registry/bench/${index % 100}\0`, limit: 1 });
  });
  await store.close();

  await startReplicas();
  const [firstReplica] = replicas;
  if (firstReplica === undefined) throw new Error("--replicas: at least one");
  await prepareWorkloads(firstReplica);
  const callers = replicas.map(
    ({ url, caCertificates }) => new Http2Caller(url, { ca: caCertificates, token: adminToken }),
  );
  const call = async (index: number, method: string, path: string, body?: unknown): Promise<void> => {
    const { status, text } = (await callers[index % callers.length]?.call(method, path, { body })) ?? {
      status: 0,
      text: "",
    };
    if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text}`);
  };
  await measure(`${replicas.length} replicas: accounts created`, (index) =>
    call(index, "POST", accounts, serviceAccount({ name: `made-${index}` })),
  );
  await measure(`${replicas.length} replicas: consistent reads of one account`, (index) =>
    call(index, "GET", `${accounts}/bench`),
  );
  await measure(`${replicas.length} replicas: consistent lists of 500`, (index) =>
    call(index, "GET", `${accounts}?limit=500`),
  );
  for (const caller of callers) caller.close();
  console.log(table(["what", "a second", "CPU ms each, etcd", "CPU ms each, replicas", "stolen s"], rows));
} finally {
  for (const replica of replicas) await replica.stop();
  await etcd.stop();
  rmSync(scratch, { recursive: true, force: true });
}
