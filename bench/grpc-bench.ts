/**
 * Measures gRPC clients against one real etcd: our own, and @grpc/grpc-js and @connectrpc/connect-node where they are
 * installed. Each runs in a separate process, one after the other, with the same messages; the last table has what each
 * makes of a call that fails. The results and what follows from them: docs/decisions/0003-etcd.md.
 *
 * npm run bench:grpc -- [--rounds N] [--restarts N] [--libraries DIRECTORY]
 */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { cpus, loadavg } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { needPrograms } from "../tools/needed-programs.ts";
import { programFlags, text, wholeNumber } from "../tools/program-flags.ts";
import { decodeRange, encodePut, encodeRange } from "../src/machinery/storage/etcd/etcd-messages.ts";
import { GrpcChannel } from "../src/machinery/grpc/grpc-channel.ts";
import { startEtcd, untilEtcdAnswers } from "../test/machinery/storage/etcd/etcd-process.ts";
import type { EtcdMember } from "../test/machinery/storage/etcd/etcd-process.ts";
import { loads, rangeKeys, rangeKey, valueBytes, watchedEvents, watchedRange } from "./grpc/grpc-loads.ts";
import type { Answer, Cost, FailedWrite, Load, Order, WriteReport } from "./grpc/grpc-loads.ts";
import { clientKinds, isInstalled } from "./grpc/grpc-clients.ts";
import type { FaultResult } from "./grpc/grpc-faults.ts";
import { median } from "./report/averages.ts";
import { markdownTable } from "./report/markdown-table.ts";
import { repeatConcurrently } from "./load/repeat-concurrently.ts";

const {
  rounds,
  restarts: restartCount,
  libraries: librariesFolder,
} = programFlags(import.meta.filename, {
  rounds: wholeNumber(5),
  restarts: wholeNumber(4),
  libraries: text(join(import.meta.dirname, "..")),
});
needPrograms(import.meta.filename, ["etcd"]);
const libraries = resolve(librariesFolder);
const value = randomBytes(valueBytes);

interface Client {
  readonly name: string;
  tell(order: Order): void;
  next(): Promise<Answer>;
  stop(): void;
}

interface Restart {
  readonly signal: NodeJS.Signals;
  readonly stoppedAt: number;
  readonly startedAt: number;
  readonly readyAt: number;
  readonly writes: Readonly<Record<string, WriteReport>>;
}

const installed = clientKinds.filter((kind) => {
  if (isInstalled(kind, libraries)) return true;
  const install = `npm install --no-save ${kind.packages.join(" ")}`;
  console.log(`${kind.name} is not installed in ${libraries} and is left out: ${install}`);
  return false;
});

// etcd ends when this process exits. By default, a signal would end this process without its exit handlers.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const etcd = await startEtcd();
const [member] = etcd.members;
if (member === undefined) throw new Error("etcd has no member");
const channel = await GrpcChannel.connect({ url: member.url, tls: {}, timeoutMilliseconds: 5_000 });
const clients: Client[] = [];
try {
  await put(rangeKeys, rangeKey);
  const watchRevision = (await latestRevision()) + 1;
  await put(watchedEvents, (index) => `${watchedRange.key}${index % 1_000}`);
  for (const { name } of installed) clients.push(await start(name, member.url));
  const costs = await measureLoads(watchRevision);
  const live = await measureLiveWatches();
  printCosts(costs, live);
  const restarts: Restart[] = [];
  for (let count = 0; count < restartCount; count++) {
    restarts.push(await restartUnderLoad(member, count % 2 === 0 ? "SIGKILL" : "SIGTERM"));
  }
  printRestarts(restarts);
  const faults: Record<string, FaultResult[]> = {};
  for (const client of clients) {
    client.tell({ order: "call the faulty server" });
    const answer = await client.next();
    if ("faults" in answer) faults[client.name] = answer.faults;
  }
  printFaults(faults);
} finally {
  for (const client of clients) client.stop();
  channel.close();
  await etcd.stop();
}

async function put(count: number, keyOf: (index: number) => string): Promise<void> {
  await repeatConcurrently({ times: count, concurrency: 64 }, (index) =>
    channel.unary("/etcdserverpb.KV/Put", { message: encodePut(keyOf(index), value), timeoutMilliseconds: 10_000 }),
  );
}

async function latestRevision(): Promise<number> {
  const message = encodeRange({ key: "/bench", rangeEnd: "", revision: 0, limit: 1 });
  return decodeRange(await channel.unary("/etcdserverpb.KV/Range", { message, timeoutMilliseconds: 5_000 })).revision;
}

async function start(name: string, url: string): Promise<Client> {
  const child: ChildProcess = fork(join(import.meta.dirname, "grpc/grpc-client-process.ts"), [url, name, libraries], {
    execArgv: ["--expose-gc"],
  });
  const ended = once(child, "exit").then(() => {
    throw new Error(`the process of ${name} ended`);
  });
  ended.catch(() => {});
  const next = async (): Promise<Answer> => {
    const [answer] = await Promise.race([once(child, "message"), ended]);
    return answer as Answer; // what the process of the client sends
  };
  await next();
  return { name, tell: (order) => void child.send(order), next, stop: () => void child.kill() };
}

/** In each round, the clients run every load, one client after the other. The first round only warms up. */
async function measureLoads(watchRevision: number): Promise<Map<Load, Map<string, Cost[]>>> {
  const costs = new Map<Load, Map<string, Cost[]>>();
  for (let round = 0; round <= rounds; round++) {
    for (const load of Object.keys(loads) as Load[]) {
      const ofLoad = costs.get(load) ?? new Map<string, Cost[]>();
      costs.set(load, ofLoad);
      for (let turn = 0; turn < clients.length; turn++) {
        const client = clients[(turn + round) % clients.length];
        if (client === undefined) continue;
        client.tell({ order: "load", load, watchRevision });
        const answer = await client.next();
        if (!("cost" in answer)) throw new Error("a load was not measured");
        const ofClient = ofLoad.get(client.name) ?? [];
        ofLoad.set(client.name, ofClient);
        if (round > 0) ofClient.push(answer.cost);
      }
    }
  }
  return costs;
}

/** All clients watch at once while the events are written, so that the same messages reach all of them. */
async function measureLiveWatches(): Promise<Map<string, Cost[]>> {
  const costs = new Map(clients.map(({ name }): [string, Cost[]] => [name, []]));
  for (let round = 0; round < 2; round++) {
    const watchRevision = (await latestRevision()) + 1;
    for (const client of clients) client.tell({ order: "watch", watchRevision });
    const answers = clients.map((client) => client.next());
    await delay(200);
    await put(watchedEvents, (index) => `${watchedRange.key}${index % 1_000}`);
    for (const [index, answer] of (await Promise.all(answers)).entries()) {
      if ("cost" in answer) costs.get(clients[index]?.name ?? "")?.push(answer.cost);
    }
  }
  return costs;
}

/** All clients write while etcd is stopped, is away for a second, and is started again. */
async function restartUnderLoad(restarted: EtcdMember, signal: NodeJS.Signals): Promise<Restart> {
  const answers = clients.map((client) => client.next());
  for (const client of clients) client.tell({ order: "write until stopped" });
  await delay(1_500);
  const ended = once(restarted.process(), "exit");
  restarted.process().kill(signal);
  await ended;
  const stoppedAt = Date.now();
  await delay(1_000);
  const startedAt = Date.now();
  restarted.restart();
  await untilEtcdAnswers(restarted, {});
  const readyAt = Date.now();
  await delay(1_500);
  for (const client of clients) client.tell({ order: "stop writing" });
  const writes: Record<string, WriteReport> = {};
  for (const [index, answer] of (await Promise.all(answers)).entries()) {
    if ("writes" in answer) writes[clients[index]?.name ?? ""] = answer.writes;
  }
  return { signal, stoppedAt, startedAt, readyAt, writes };
}

function printCosts(costs: ReadonlyMap<Load, ReadonlyMap<string, readonly Cost[]>>, live: Map<string, Cost[]>): void {
  const head = ["load", "client", "a second", "CPU µs each", "CPU, times ours"];
  const rows: (string | number)[][] = [];
  const add = (load: string, times: number, byClient: ReadonlyMap<string, readonly Cost[]>): void => {
    const cpuOf = (name: string): number => median((byClient.get(name) ?? []).map((cost) => cost.cpuMicroseconds));
    for (const { name } of clients) {
      const perSecond = median((byClient.get(name) ?? []).map(({ seconds }) => times / seconds));
      rows.push([
        load,
        name,
        perSecond.toFixed(perSecond < 100 ? 1 : 0),
        (cpuOf(name) / times).toFixed(1),
        (cpuOf(name) / cpuOf("own")).toFixed(2),
      ]);
    }
  };
  for (const [load, byClient] of costs) add(load, loads[load], byClient);
  add("watch of 10,000 events as they are written", watchedEvents, live);
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}), Node.js ${process.versions.node}`;
  const averages = loadavg().map((load) => load.toFixed(1));
  console.log(`${machine}; load average ${averages.join(", ")}; median of ${rounds} rounds.\n`);
  console.log(`${markdownTable(head, rows)}\n`);
}

function printRestarts(restarts: readonly Restart[]): void {
  const head = [
    "client",
    "etcd ended by",
    "first success after etcd was ready",
    "failed",
    "not sent",
    "written anyway",
  ];
  const rows: (string | number)[][] = [];
  for (const { name } of clients) {
    for (const restart of restarts) {
      const { signal, startedAt, readyAt, writes } = restart;
      const report = writes[name];
      if (report === undefined) continue;
      const firstSuccessAt = report.successesAt.find((at) => at > startedAt);
      rows.push([
        name,
        signal,
        firstSuccessAt === undefined ? "never" : `${firstSuccessAt - readyAt} ms`,
        report.failures.length,
        report.failures.filter((failure) => isCertainlyNotSent(failure, restart)).length,
        report.failures.filter(({ isWritten }) => isWritten).length,
      ]);
    }
  }
  console.log(`${markdownTable(head, rows)}\n`);

  console.log(
    "Each error of these restarts: how often it came, for how many calls that certainly were not sent, and how many",
  );
  console.log("of its writes, etcd made these anyway:\n");
  const errors = new Map<string, { came: number; notSent: number; written: number }>();
  for (const restart of restarts) {
    for (const [name, { failures }] of Object.entries(restart.writes)) {
      for (const failure of failures) {
        const error = `${name} | ${failure.fields} | ${withoutDetails(failure.text)}`;
        const { came, notSent, written } = errors.get(error) ?? { came: 0, notSent: 0, written: 0 };
        errors.set(error, {
          came: came + 1,
          notSent: notSent + Number(isCertainlyNotSent(failure, restart)),
          written: written + Number(failure.isWritten),
        });
      }
    }
  }
  const errorRows = [...errors].sort(([a], [b]) => (a < b ? -1 : 1));
  console.log(
    `${markdownTable(
      ["client", "fields", "text", "came", "not sent", "written"],
      errorRows.map(([error, { came, notSent, written }]) => [...error.split(" | "), came, notSent, written]),
    )}\n`,
  );
}

/** etcd was not running from its beginning to its end. */
function isCertainlyNotSent(failure: FailedWrite, { stoppedAt, startedAt }: Restart): boolean {
  return failure.startedAt > stoppedAt && failure.endedAt < startedAt;
}

function printFaults(faults: Readonly<Record<string, readonly FaultResult[]>>): void {
  const names = Object.keys(faults);
  const rows = (faults["own"] ?? []).map(({ fault, truth }, index) => [
    fault,
    truth,
    ...names.map((name) => {
      const result = faults[name]?.[index];
      if (result === undefined) return "";
      const repeats = result.received > 1 ? ` (sent ${result.received} times)` : "";
      return `${result.fields}: ${withoutDetails(result.text)}${repeats}`;
    }),
  ]);
  console.log(markdownTable(["what happened", "truth", ...names], rows));
  for (const name of names) console.log(`\n${name}: ${toldApart(faults[name] ?? [])}`);
}

/** Whether the client's error distinguishes a call that may be repeated from a call that may have been executed. */
function toldApart(results: readonly FaultResult[]): string {
  const unknown = results.filter(({ truth }) => truth === "unknown");
  const notDone = results.filter(({ truth }) => truth === "not done");
  const overlap = (tell: (result: FaultResult) => string): string[] => {
    const tellsUnknown = new Set(unknown.map(tell));
    return notDone.filter((result) => tellsUnknown.has(tell(result))).map(({ fault }) => fault);
  };
  const byFields = overlap(({ fields }) => fields);
  if (byFields.length === 0) return "every call that was not done is told from those of unknown outcome.";
  const byText = overlap(({ fields, text }) => `${fields}: ${withoutDetails(text)}`);
  const fields = `by its fields not told from an unknown outcome: ${byFields.join("; ")}`;
  return byText.length === 0
    ? `${fields}. By its text all are.`
    : `${fields}; by its text neither: ${byText.join("; ")}.`;
}

/** The text without addresses and times, which differ in each run. */
function withoutDetails(text: string): string {
  return text
    .replaceAll(/127\.0\.0\.1:\d+/g, "ADDRESS")
    .replaceAll(/\(\d{4}-[^)]*\)|\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/\d+\.\d+s/g, "N s")
    .slice(0, 110);
}
