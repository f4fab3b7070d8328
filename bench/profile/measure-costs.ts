import { inspectWorkloads } from "./inspected-server.ts";
import type { InspectedWorkloads } from "./inspected-server.ts";
import type { Inspector } from "./inspector.ts";
import { processIo } from "../processes/process-io.ts";
import type { ProcessIo } from "../processes/process-io.ts";

/** What one request costs, on average. Counts depend little on what else the machine does, unlike times. */
export interface RequestCosts {
  readonly allocatedBytes: number;
  /** The function that allocates most comes first. */
  readonly allocatedByFunction: ReadonlyMap<string, number>;
  /** Of a request while no other is in flight, because requests may share system calls. Undefined: this system does not count. */
  readonly io: ProcessIo | undefined;
}

/** A node of V8's sampling profile: what a function allocated, and what its callees allocated. */
interface ProfileNode {
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly selfSize: number;
  readonly children: readonly ProfileNode[];
}

interface MeasuredWorkloads extends InspectedWorkloads {
  /** How often the requests of a workload are sent. The repetition with the lowest cost counts. */
  readonly loads?: number;
  /** Bytes that a request of each workload may allocate, by name. A workload below its limit is not sent again. */
  readonly allowedBytes?: ReadonlyMap<string, number>;
}

/** What requests of each workload cost a server in a separate process, by name. Rejects when a request is not answered with 2xx. */
export async function measureCosts(options: MeasuredWorkloads): Promise<ReadonlyMap<string, RequestCosts>> {
  const { requests, loads = 3, allowedBytes } = options;
  const measured = new Map<string, RequestCosts>();
  await inspectWorkloads(options, async ({ name, inspector, processId, load, sendOne }) => {
    measured.set(name, {
      ...(await leastAllocated(inspector, { load, loads, requests, allowedBytes: allowedBytes?.get(name) ?? 0 })),
      io: await countIo(processId, sendOne),
    });
  });
  return measured;
}

type Allocations = Pick<RequestCosts, "allocatedBytes" | "allocatedByFunction">;

interface SampledLoads {
  readonly load: () => Promise<void>;
  readonly loads: number;
  /** Of one load. */
  readonly requests: number;
  readonly allowedBytes: number;
}

/** The lowest cost of all loads, because the server's own background work, which is more on a slow machine, only adds to the cost. */
async function leastAllocated(
  inspector: Inspector,
  { load, loads, requests, allowedBytes }: SampledLoads,
): Promise<Allocations> {
  let least: Allocations = { allocatedBytes: Infinity, allocatedByFunction: new Map() };
  for (let count = 0; count < loads && least.allocatedBytes >= allowedBytes; count += 1) {
    const bytes = await sampleAllocations(inspector, load);
    const allocatedByFunction = new Map([...bytes].map(([place, size]) => [place, size / requests]));
    const allocatedBytes = [...allocatedByFunction.values()].reduce((sum, size) => sum + size, 0);
    if (allocatedBytes < least.allocatedBytes) least = { allocatedBytes, allocatedByFunction };
  }
  return least;
}

const countedBatches = 20;
const requestsInBatch = 10;

/** The lowest cost of all batches, for the same reason. */
async function countIo(processId: number, sendOne: () => Promise<void>): Promise<ProcessIo | undefined> {
  let least: ProcessIo | undefined;
  for (let batch = 0; batch < countedBatches; batch += 1) {
    const before = processIo(processId);
    for (let count = 0; count < requestsInBatch; count += 1) await sendOne();
    const after = processIo(processId);
    if (before === undefined || after === undefined) return undefined;
    const { calls, bytes } = least ?? { calls: Infinity, bytes: Infinity };
    least = {
      calls: Math.min(calls, (after.calls - before.calls) / requestsInBatch),
      bytes: Math.min(bytes, (after.bytes - before.bytes) / requestsInBatch),
    };
  }
  return least;
}

/**
 * Counts the bytes that a server allocates while `load` runs, collected or not, by function. V8 looks at one allocation in
 * 4 KiB: sample some tens of megabytes.
 */
async function sampleAllocations(inspector: Inspector, load: () => Promise<void>): Promise<Map<string, number>> {
  await inspector.send("HeapProfiler.startSampling", {
    samplingInterval: 4096,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  await load();
  const { profile } = (await inspector.send("HeapProfiler.stopSampling")) as { profile: { head: ProfileNode } }; // the inspector's format
  const bytes = new Map<string, number>();
  const waiting = [profile.head];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const { functionName, url, lineNumber } = node.callFrame;
    const name = `${functionName || "(anonymous)"} ${url.replace(/^.*\/(src|node_modules)\//, "")}:${lineNumber + 1}`;
    bytes.set(name, (bytes.get(name) ?? 0) + node.selfSize);
    waiting.push(...node.children);
  }
  return new Map([...bytes].sort(([, a], [, b]) => b - a));
}
