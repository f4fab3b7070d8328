import { inspectWorkloads } from "./inspected-server.ts";
import type { InspectedWorkloads } from "./inspected-server.ts";
import type { Inspector } from "./inspector.ts";

export interface Allocations {
  readonly bytesPerRequest: number;
  /** The function that allocates most comes first. */
  readonly bytesByFunction: ReadonlyMap<string, number>;
}

/** A node of V8's sampling profile: what one function allocated, and what the functions that it called did. */
interface ProfileNode {
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly selfSize: number;
  readonly children: readonly ProfileNode[];
}

/** What a server of its own process allocates for each workload, by name. Rejects when a request is not answered with 2xx. */
export async function measureAllocations(options: InspectedWorkloads): Promise<ReadonlyMap<string, Allocations>> {
  const measured = new Map<string, Allocations>();
  await inspectWorkloads(options, async ({ name, inspector, load }) => {
    const bytes = await sampleAllocations(inspector, load);
    const bytesByFunction = new Map([...bytes].map(([place, size]) => [place, size / options.requests]));
    const bytesPerRequest = [...bytesByFunction.values()].reduce((sum, size) => sum + size, 0);
    measured.set(name, { bytesPerRequest, bytesByFunction });
  });
  return measured;
}

/**
 * Counts the bytes that a server allocates while `load` runs, collected or not, by function. A count does not depend on
 * what else the machine does, as times do. V8 looks at one allocation in 4 KiB: sample some tens of megabytes.
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
