/**
 * Measures what many objects cost: memory of each, the time until a restarted server answers, lists with selectors, and how
 * long a small request has to wait meanwhile.
 *
 *   npm run bench:objects -- [--objects N] [--directory DIR] [--installed] [--starts N] [--memory-mebibytes N]
 *
 * DIR keeps the objects for the next run, which then creates none. --installed measures the package as npm installs it, instead of
 * the checkout. --memory-mebibytes (needs root) limits the server's memory, as a container does: when that is too little, the kernel kills
 * the server, and the command fails. Times of several starts are their median.
 */
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isGiven, programFlags, text, wholeNumber } from "../tools/program-flags.ts";
import { Http2Caller } from "./load/http2-caller.ts";
import { median } from "./report/averages.ts";
import { memoryLimitLauncher } from "./processes/memory-limit-launcher.ts";
import { installPackage } from "./processes/installed-package.ts";
import { processStatus } from "./processes/process-status.ts";
import { repeatConcurrently } from "./load/repeat-concurrently.ts";
import { adminToken, startServerProcess } from "./processes/server-process.ts";
import type { ServerProcess } from "./processes/server-process.ts";

const {
  objects,
  directory: givenDirectory,
  installed,
  starts: startCount,
  "memory-mebibytes": memoryMebibytes,
} = programFlags(import.meta.filename, {
  objects: wholeNumber(100_000),
  directory: text(),
  installed: isGiven(),
  starts: wholeNumber(5),
  "memory-mebibytes": wholeNumber(0),
});
const namespaces = 100;
const turns = 9;

const directory = givenDirectory ?? mkdtempSync(join(tmpdir(), "signet-objects-"));
mkdirSync(directory, { recursive: true });
const data = join(directory, "data");
const isNew = !existsSync(data);
const scratch = mkdtempSync(join(tmpdir(), "signet-objects-program-"));
const program = {
  ...(installed && { main: installPackage(scratch).main }),
  ...(memoryMebibytes > 0 && { launcher: memoryLimitLauncher(memoryMebibytes), onSpawned: reportKill }),
};

function reportKill(spawned: ChildProcess): void {
  spawned.once("exit", (_code, signal) => {
    if (signal === "SIGKILL") console.error(`the kernel has killed the server: ${memoryMebibytes} MiB are too little`);
  });
}

const connect = ({ url, caCertificates }: ServerProcess): Http2Caller =>
  new Http2Caller(url, { ca: caCertificates, token: adminToken });
const print = (what: string, value: string): void => console.log(what.padEnd(46), value);

/** Resident bytes of a process: its own, and parts of files. */
function resident({ process: { pid = 0 } }: ServerProcess): { readonly own: number; readonly files: number } {
  return { own: processStatus(pid, "RssAnon") * 1024, files: processStatus(pid, "RssFile") * 1024 };
}

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
function printMemory(when: string, server: ServerProcess, before = { own: 0, files: 0 }): void {
  const { own, files } = resident(server);
  const each = [own - before.own, files - before.files].map((bytes) => Math.round(bytes / objects));
  print(`resident ${when}, MiB`, `${mebibytes(own + files)} (own ${mebibytes(own)}, files ${mebibytes(files)})`);
  if (before.own > 0) print("  an object, bytes", `own ${each[0]}, files ${each[1]}`);
}

const accountsOf = (n: number): string => `/api/v1/namespaces/scale-${n % namespaces}/serviceaccounts`;

async function create(server: ServerProcess): Promise<void> {
  const callers = Array.from({ length: 4 }, () => connect(server));
  for (let n = 0; n < namespaces; n += 1) {
    await callers[0]?.call("POST", "/api/v1/namespaces", { body: { metadata: { name: `scale-${n}` } } });
  }
  const before = resident(server);
  const cpu = server.cpuSeconds();
  const start = performance.now();
  await repeatConcurrently({ times: objects, concurrency: 64 }, async (n, lane) => {
    const labels = { app: `a${n % 500}`, tier: "edge" };
    const metadata = { name: `sa-${n}`, labels, annotations: { note: "x".repeat(80) } };
    const answer = await callers[lane % callers.length]?.call("POST", accountsOf(n), { body: { metadata } });
    if (answer?.status !== 201) throw new Error(answer?.text);
  });
  const seconds = (performance.now() - start) / 1000;
  const microseconds = ((server.cpuSeconds() - cpu) * 1e6) / objects;
  print("creates a second; CPU µs each", `${Math.round(objects / seconds)}; ${microseconds.toFixed(0)}`);
  printMemory("after the creates", server, before);
  await delay(20_000);
  printMemory("20 s later", server, before);
  for (const caller of callers) caller.close();
}

/** Sends one small request after the other until `done`. Returns the longest wait in milliseconds. */
async function longestWait(caller: Http2Caller, done: Promise<unknown>): Promise<number> {
  let longest = 0;
  const state = { isDone: false };
  void done.finally(() => (state.isDone = true));
  while (!state.isDone) {
    const start = performance.now();
    await caller.call("GET", `${accountsOf(7)}/sa-7`);
    longest = Math.max(longest, performance.now() - start);
    await delay(1);
  }
  return longest;
}

if (isNew) {
  const server = await startServerProcess(data, program);
  await create(server);
  await server.stop();
}

interface Start {
  readonly server: ServerProcess;
  readonly readyMilliseconds: number;
  readonly answeredMilliseconds: number;
  readonly cpuMilliseconds: number;
}

async function start(): Promise<Start> {
  const spawned = performance.now();
  const server = await startServerProcess(data, program);
  const caller = connect(server);
  const first = await caller.call("GET", `${accountsOf(7)}/sa-7`);
  const answeredMilliseconds = performance.now() - spawned;
  if (first.status !== 200) throw new Error(first.text);
  caller.close();
  const { readyMilliseconds } = server;
  return { server, readyMilliseconds, answeredMilliseconds, cpuMilliseconds: server.cpuSeconds() * 1000 };
}

const starts: Start[] = [];
for (let turn = 0; turn < startCount; turn += 1) {
  await starts.at(-1)?.server.stop();
  starts.push(await start());
}
const ofStarts = (of: (start: Start) => number): string => median(starts.map(of)).toFixed(0);
print(
  "ready, as it says; answers a get, ms; CPU ms",
  `${ofStarts((one) => one.readyMilliseconds)}; ${ofStarts((one) => one.answeredMilliseconds)}; ${ofStarts((one) => one.cpuMilliseconds)}`,
);
const last = starts.at(-1);
if (last === undefined) throw new Error("--starts: at least one");
const { server } = last;
const caller = connect(server);
const wait = await longestWait(caller, delay(3000));
print("longest wait in the 3 s after, ms; CPU ms", `${wait.toFixed(1)}; ${server.cpuSeconds() * 1000}`);
printMemory("after the restart", server);

const lister = connect(server);
/** Reads an answer without keeping it, because joining its parts would delay the small requests of this process too. */
async function bytesOf({ path, accept }: List): Promise<number> {
  let bytes = 0;
  const stream = lister.open(path, accept === undefined ? {} : { accept });
  for await (const chunk of stream) bytes += (chunk as Buffer).length; // it has no encoding
  return bytes;
}

/** The path of the second page of a list, after a write since the first page. */
async function secondPage(path: string): Promise<string> {
  const first = await caller.call("GET", path);
  const { metadata } = JSON.parse(first.text) as { metadata: { continue?: string } }; // the API's format
  await caller.call("POST", "/api/v1/namespaces/default/configmaps", {
    body: { metadata: { generateName: "bench-" } },
  });
  return `${path}&continue=${encodeURIComponent(metadata.continue ?? "")}`;
}

interface List {
  readonly path: string;
  readonly accept?: string;
}

const all = "/api/v1/serviceaccounts";
const converted = (kind: string): string => `application/json;as=${kind};g=meta.k8s.io;v=v1`;
const lists: Readonly<Record<string, List>> = {
  "one label": { path: `${all}?labelSelector=app%3Da7` },
  "a label that none has": { path: `${all}?labelSelector=tier%3Dcloud` },
  "a name in all namespaces": { path: `${all}?fieldSelector=metadata.name%3Dsa-77` },
  "one namespace": { path: "/api/v1/namespaces/scale-7/serviceaccounts" },
  "page of 500": { path: `${all}?limit=500` },
  "second page of a label": { path: await secondPage(`${all}?limit=500&labelSelector=tier%3Dedge`) },
  everything: { path: all },
  "everything, protobuf": { path: all, accept: "application/vnd.kubernetes.protobuf" },
  "everything, as a table": { path: all, accept: converted("Table") },
  "everything, only metadata": { path: all, accept: converted("PartialObjectMetadataList") },
};
for (const [name, list] of Object.entries(lists)) {
  const times: number[] = [];
  let bytes = 0;
  const cpu: number[] = [server.cpuSeconds()];
  const listAll = async (): Promise<void> => {
    for (let turn = 0; turn < turns; turn += 1) {
      const start = performance.now();
      bytes = await bytesOf(list);
      times.push(performance.now() - start);
      if (turn === 0) cpu.push(server.cpuSeconds());
    }
  };
  const longest = await longestWait(caller, listAll());
  const [before = 0, afterFirst = 0] = cpu;
  const milliseconds = [afterFirst - before, (server.cpuSeconds() - afterFirst) / (turns - 1)].map((seconds) =>
    (seconds * 1000).toFixed(1),
  );
  const least = Math.min(...times);
  print(
    `list: ${name}`,
    `CPU ms ${milliseconds.join(", then ")}; least ms ${least.toFixed(1)}; a get waits ${longest.toFixed(1)} (${mebibytes(bytes)} MiB)`,
  );
}
printMemory("after the lists", server);
for (const one of [caller, lister]) one.close();
await server.stop();
rmSync(scratch, { recursive: true });
if (givenDirectory === undefined) rmSync(directory, { recursive: true });
