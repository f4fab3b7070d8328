import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HeapSampler } from "./heap-sampler.ts";
import { Http2Caller } from "./http2-caller.ts";
import { startServerProcess } from "./server-process.ts";
import { prepareWorkloads } from "./workloads.ts";
import type { Workload } from "./workloads.ts";

export interface Allocations {
  readonly bytesPerRequest: number;
  /** The function that allocates most comes first. */
  readonly bytesByFunction: ReadonlyMap<string, number>;
}

export interface AllocationOptions {
  /** Counted ones; as many again warm the server up before them. */
  readonly requests: number;
  /** Of `signet serve`. */
  readonly flags?: readonly string[];
  /** The name of the one workload to measure. */
  readonly only?: string;
}

/** What a server of its own process allocates for each workload, by name. Rejects when a request is not answered with 2xx. */
export async function measureAllocations({
  requests,
  flags = [],
  only,
}: AllocationOptions): Promise<ReadonlyMap<string, Allocations>> {
  const scratch = mkdtempSync(join(tmpdir(), "signet-allocations-"));
  const inspectorPort = await freePort();
  const runtimeFlags = [`--inspect=127.0.0.1:${inspectorPort}`, "--inspect-publish-uid=http"];
  const server = await startServerProcess(join(scratch, "data"), { flags, runtimeFlags });
  try {
    const sampler = await HeapSampler.connect(inspectorPort);
    const measured = new Map<string, Allocations>();
    for (const workload of await prepareWorkloads(server)) {
      if (only !== undefined && workload.name !== only) continue;
      const caller = new Http2Caller(server.url, { ca: server.caCertificates, token: workload.token });
      await send(caller, workload, requests);
      const bytes = await sampler.sample(() => send(caller, workload, requests));
      caller.close();
      const bytesByFunction = new Map([...bytes].map(([place, size]) => [place, size / requests]));
      const bytesPerRequest = [...bytesByFunction.values()].reduce((sum, size) => sum + size, 0);
      measured.set(workload.name, { bytesPerRequest, bytesByFunction });
    }
    sampler.close();
    return measured;
  } finally {
    await server.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** 32 at a time on one connection. */
async function send(caller: Http2Caller, { name, path, body }: Workload, requests: number): Promise<void> {
  let left = requests;
  const sendSome = async (): Promise<void> => {
    while (left-- > 0) {
      const { status, text } = await caller.call(body === undefined ? "GET" : "POST", path, { body });
      if (status < 200 || status > 299) throw new Error(`${name}: ${status} ${text}`);
    }
  };
  await Promise.all(Array.from({ length: 32 }, sendSome));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  await new Promise((resolve) => server.close(resolve));
  return port;
}
