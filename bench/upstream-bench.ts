/**
 * Compares Signet with a kube-apiserver and its etcd: time until they are ready, memory, and processor time for a request. Both run
 * at the same time, and are loaded in turns with the same requests. etcd is Debian's etcd-server.
 *
 *   npm run bench:upstream -- --kube-apiserver FILE [--rounds N] [--requests N] [--accounts N]
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { needPrograms } from "../tools/needed-programs.ts";
import { neededText, programFlags, wholeNumber } from "../tools/program-flags.ts";
import { kubernetesNames } from "../src/machinery/api/names.ts";
import { messageOf } from "../src/machinery/api/thrown-error.ts";
import { Http2Caller } from "./load/http2-caller.ts";
import { mean, median } from "./report/averages.ts";
import { inTurns } from "./load/in-turns.ts";
import { markdownTable } from "./report/markdown-table.ts";
import { adminToken, startServerProcess } from "./processes/server-process.ts";
import { startUpstreamServer } from "./processes/upstream-server.ts";
import { accounts, prepareWorkloads, sendRequests } from "./load/workloads.ts";
import type { Workload } from "./load/workloads.ts";

const {
  "kube-apiserver": program,
  rounds,
  requests,
  accounts: accountCount,
} = programFlags(import.meta.filename, {
  "kube-apiserver": neededText(),
  rounds: wholeNumber(15),
  requests: wholeNumber(500),
  accounts: wholeNumber(20_000),
});
needPrograms(import.meta.filename, ["etcd"]);
/** The loops have their first turn, and both runtimes collect their garbage. */
const settleMilliseconds = 30_000;

interface Side {
  readonly url: string;
  readonly caCertificates: Buffer;
}

const scratch = mkdtempSync(join(tmpdir(), "signet-upstream-"));
mkdirSync(join(scratch, "own"));
const upstream = await startUpstreamServer(program, join(scratch, "upstream")).catch((error: unknown) => {
  rmSync(scratch, { recursive: true, force: true });
  console.error(messageOf(error));
  process.exit(1);
});
const startedAt = performance.now();
const own = await startServerProcess(join(scratch, "own", "data"), { flags: ["--profile=kubernetes"] });
const ownReadyMilliseconds = performance.now() - startedAt;
try {
  await delay(settleMilliseconds);
  const memory = [memoryRow("idle")];
  const rows = await compareRequests();
  memory.push(memoryRow("after these requests"));
  const made: Workload = {
    name: "accounts",
    path: accounts,
    body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { generateName: "many-" } },
    token: adminToken,
  };
  for (const side of [upstream, own]) await send(side, { workload: made, count: accountCount });
  memory.push(memoryRow(`after ${accountCount} accounts more`));
  await delay(settleMilliseconds);
  memory.push(memoryRow(`${settleMilliseconds / 1000} seconds later`));
  const page: Workload = { name: "page of 500", path: `${accounts}?limit=500`, token: adminToken };
  rows.push(await compare([page, page], requests / 50));

  console.log(markdownTable(["", "kube-apiserver", "its etcd", "Signet"], [readyRow(), ...memory]));
  console.log(markdownTable(["CPU µs each", "kube-apiserver", "its etcd", "Signet", "times as much, median"], rows));
} finally {
  await own.stop();
  await upstream.stop();
  rmSync(scratch, { recursive: true, force: true });
}

function readyRow(): string[] {
  return ["ready, ms", upstream.readyMilliseconds.toFixed(0), "", ownReadyMilliseconds.toFixed(0)];
}

function memoryRow(when: string): string[] {
  const sizes = [upstream.apiServer, upstream.etcd, own].map((one) => one.residentMebibytes().toFixed(0));
  return [`resident MiB, ${when}`, ...sizes];
}

async function compareRequests(): Promise<string[][]> {
  const [others, owns] = await Promise.all([upstream, own].map((side) => prepareWorkloads(side, kubernetesNames)));
  const rows: string[][] = [];
  for (const [index, workload] of (owns ?? []).entries()) {
    const other = others?.[index];
    if (other !== undefined) rows.push(await compare([other, workload], requests));
  }
  return rows;
}

interface Cost {
  readonly apiServer: number;
  readonly etcd: number;
}

async function compare([otherWorkload, ownWorkload]: readonly [Workload, Workload], count: number): Promise<string[]> {
  const loadOther = async (): Promise<Cost> => {
    const before = { apiServer: upstream.apiServer.cpuSeconds(), etcd: upstream.etcd.cpuSeconds() };
    await send(upstream, { workload: otherWorkload, count });
    const microseconds = (seconds: number): number => (seconds * 1e6) / count;
    return {
      apiServer: microseconds(upstream.apiServer.cpuSeconds() - before.apiServer),
      etcd: microseconds(upstream.etcd.cpuSeconds() - before.etcd),
    };
  };
  const loadOwn = async (): Promise<number> => {
    const before = own.cpuSeconds();
    await send(own, { workload: ownWorkload, count });
    return ((own.cpuSeconds() - before) * 1e6) / count;
  };
  // The first rounds compile the code.
  for (let warm = 0; warm < 4; warm++) {
    await loadOther();
    await loadOwn();
  }
  const { others, owns } = await inTurns({ rounds, other: loadOther, own: loadOwn });
  const ratios = others.map(({ apiServer, etcd }, round) => (apiServer + etcd) / (owns[round] ?? Number.NaN));
  const means = [others.map(({ apiServer }) => apiServer), others.map(({ etcd }) => etcd), owns].map(mean);
  return [ownWorkload.name, ...means.map((one) => one.toFixed(0)), median(ratios).toFixed(1)];
}

async function send(
  { url, caCertificates }: Side,
  { workload, count }: { readonly workload: Workload; readonly count: number },
): Promise<void> {
  const caller = new Http2Caller(url, { ca: caCertificates, token: workload.token });
  await sendRequests(caller, workload, count);
  caller.close();
}
