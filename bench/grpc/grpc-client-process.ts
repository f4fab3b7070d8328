/** One client in a child process of grpc-bench.ts, so that CPU time and compiled code are separate. */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import {
  decodeRange,
  decodeSwap,
  decodeWatchAnswer,
  encodeRange,
  encodeSwap,
  encodeWatchCreate,
} from "../../src/machinery/storage/etcd/etcd-messages.ts";
import type { RangeAnswer, SwapMessage, WatchMessage } from "../../src/machinery/storage/etcd/etcd-messages.ts";
import { clientKinds, loadFrom } from "./grpc-clients.ts";
import { callFaultyServer } from "./grpc-faults.ts";
import { loads, rangeKeys, rangeKey, valueBytes, watchedEvents, watchedRange } from "./grpc-loads.ts";
import type { Answer, Cost, FailedWrite, Load, Order, WriteReport } from "./grpc-loads.ts";
import { repeatConcurrently } from "../load/repeat-concurrently.ts";

const rangePageLength = 1_000;

const [, , url = "", name = "", libraries = ""] = process.argv;
const kind = clientKinds.find((candidate) => candidate.name === name);
if (kind === undefined) throw new Error(`there is no client ${name}`);
const { open, report } = kind;
const load = loadFrom(libraries);
const client = open(url, load);
const value = randomBytes(valueBytes);
let written = 0;
let writing = new AbortController();

const newKey = (): string => `/bench/written/${name}/${process.pid}/${written++}`;

async function swap(message: SwapMessage): Promise<number> {
  const answer = decodeSwap(await client.unary("/etcdserverpb.KV/Txn", encodeSwap(message)));
  if (!answer.isWritten) throw new Error(`${message.key} was not written`);
  return answer.revision;
}

async function range(key: string, rangeEnd = ""): Promise<RangeAnswer> {
  const message = encodeRange({ key, rangeEnd, revision: 0, limit: rangePageLength });
  return decodeRange(await client.unary("/etcdserverpb.KV/Range", message));
}

async function createAndSwap(): Promise<void> {
  const key = newKey();
  const expectedRevision = await swap({ key, value, expectedRevision: 0 });
  await swap({ key, value, expectedRevision });
}

async function readAll(): Promise<void> {
  let read = 0;
  for (let key = rangeKey(0), hasMore = true; hasMore;) {
    const page = await range(key, "/bench/range0");
    read += page.keyValues.length;
    key = `${page.keyValues.at(-1)?.key ?? ""}\0`;
    ({ hasMore } = page);
  }
  if (read !== rangeKeys) throw new Error(`read ${read} of ${rangeKeys} keys`);
}

/** Resolves when all events have arrived. */
function watchAll(startRevision: number): Promise<void> {
  return new Promise((resolve) => {
    const message: WatchMessage = { ...watchedRange, startRevision };
    let received = 0;
    const stop = client.watch("/etcdserverpb.Watch/Watch", encodeWatchCreate(message), (bytes) => {
      received += decodeWatchAnswer(bytes).events.length;
      if (received < watchedEvents) return;
      stop();
      resolve();
    });
  });
}

async function measure(work: () => Promise<void>): Promise<Cost> {
  globalThis.gc?.();
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { seconds, cpuMicroseconds: user + system };
}

async function run(wanted: Load, watchRevision: number): Promise<void> {
  const times = loads[wanted];
  const get = (index: number): Promise<RangeAnswer> => range(rangeKey((index * 7) % rangeKeys));
  switch (wanted) {
    case "create and swap, one after the other":
      return await repeatConcurrently({ times: times / 2, concurrency: 1 }, createAndSwap);
    case "create and swap, 32 at once":
      return await repeatConcurrently({ times: times / 2, concurrency: 32 }, createAndSwap);
    case "get, one after the other":
      return await repeatConcurrently({ times, concurrency: 1 }, get);
    case "get, 32 at once":
      return await repeatConcurrently({ times, concurrency: 32 }, get);
    case "range of 5,000 keys":
      return await repeatConcurrently({ times, concurrency: 1 }, readAll);
    case "watch that catches up, 10,000 events":
      return await watchAll(watchRevision);
  }
}

/** Creates keys, eight at once, whatever happens to etcd. Afterwards finds out whether etcd stored the keys of failed creates. */
async function writeUntilStopped(signal: AbortSignal): Promise<WriteReport> {
  const successesAt: number[] = [];
  const failures: (Omit<FailedWrite, "isWritten"> & { readonly key: string })[] = [];
  const worker = async (): Promise<void> => {
    while (!signal.aborted) {
      const key = newKey();
      const startedAt = Date.now();
      try {
        await swap({ key, value, expectedRevision: 0 });
        successesAt.push(Date.now());
      } catch (error) {
        failures.push({ key, startedAt, endedAt: Date.now(), ...report(error) });
        await delay(10);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  const failed: FailedWrite[] = [];
  for (const { key, ...failure } of failures) {
    failed.push({ ...failure, isWritten: (await range(key)).count === 1 });
  }
  return { successesAt, failures: failed };
}

async function obey(order: Order): Promise<Answer | undefined> {
  switch (order.order) {
    case "load":
      return { cost: await measure(() => run(order.load, order.watchRevision)) };
    case "watch":
      return { cost: await measure(() => watchAll(order.watchRevision)) };
    case "write until stopped":
      writing = new AbortController();
      return { writes: await writeUntilStopped(writing.signal) };
    case "stop writing":
      writing.abort();
      return undefined;
    case "call the faulty server":
      return { faults: await callFaultyServer((faultyUrl) => open(faultyUrl, load), report) };
  }
}

process.on("message", (order: Order) => {
  obey(order).then(
    (answer) => answer !== undefined && process.send?.(answer),
    (error: unknown) => {
      console.error(`${name}:`, error);
      process.exit(1);
    },
  );
});
process.once("disconnect", () => process.exit());
await range(rangeKey(0)); // connects
process.send?.("ready");
