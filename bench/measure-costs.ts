import { inspectWorkloads } from "./inspected-server.ts";
import type { InspectedWorkloads } from "./inspected-server.ts";
import type { Inspector } from "./inspector.ts";
import { processIo } from "./process-io.ts";
import type { ProcessIo } from "./process-io.ts";

/** What one request costs, on average. Counts do not depend on what else the machine does, as times do. */
export interface RequestCosts {
  readonly allocatedBytes: number;
  /** The function that allocates most comes first. */
  readonly allocatedByFunction: ReadonlyMap<string, number>;
  /** With 32 requests at a time. Undefined: this system does not count it. */
  readonly io: ProcessIo | undefined;
}

/** A node of V8's sampling profile: what one function allocated, and what the functions that it called did. */
interface ProfileNode {
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly selfSize: number;
  readonly children: readonly ProfileNode[];
}

/** What requests of each workload cost a server of its own process, by name. Rejects when one is not answered with 2xx. */
export async function measureCosts(options: InspectedWorkloads): Promise<ReadonlyMap<string, RequestCosts>> {
  const { requests } = options;
  const measured = new Map<string, RequestCosts>();
  await inspectWorkloads(options, async ({ name, inspector, processId, load }) => {
    const before = processIo(processId);
    const bytes = await sampleAllocations(inspector, load);
    const after = processIo(processId);
    const allocatedByFunction = new Map([...bytes].map(([place, size]) => [place, size / requests]));
    measured.set(name, {
      allocatedBytes: [...allocatedByFunction.values()].reduce((sum, size) => sum + size, 0),
      allocatedByFunction,
      io: before &&
        after && { calls: (after.calls - before.calls) / requests, bytes: (after.bytes - before.bytes) / requests },
    });
  });
  return measured;
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
