import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Http2Caller } from "./http2-caller.ts";
import { Inspector } from "./inspector.ts";
import { startServerProcess } from "./server-process.ts";
import { prepareWorkloads } from "./workloads.ts";
import type { Workload } from "./workloads.ts";

export interface InspectedWorkloads {
  /** Counted requests of each workload; as many again warm the server up before them. */
  readonly requests: number;
  /** Of `signet serve`. */
  readonly flags?: readonly string[];
  /** The name of the one workload to measure. */
  readonly only?: string;
}

export interface InspectedWorkload {
  readonly name: string;
  readonly inspector: Inspector;
  /** Sends the requests. Rejects when one is not answered with 2xx. */
  readonly load: () => Promise<void>;
}

/** Starts a server of its own process, warms it up with each workload, and calls `measure` before the counted requests. */
export async function inspectWorkloads(
  { requests, flags = [], only }: InspectedWorkloads,
  measure: (workload: InspectedWorkload) => Promise<void>,
): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "signet-inspected-"));
  const port = await freePort();
  const runtimeFlags = [`--inspect=127.0.0.1:${port}`, "--inspect-publish-uid=http"];
  const server = await startServerProcess(join(scratch, "data"), { flags, runtimeFlags });
  try {
    const inspector = await Inspector.connect(port);
    for (const workload of await prepareWorkloads(server)) {
      if (only !== undefined && workload.name !== only) continue;
      const caller = new Http2Caller(server.url, { ca: server.caCertificates, token: workload.token });
      await send(caller, workload, requests);
      await measure({ name: workload.name, inspector, load: () => send(caller, workload, requests) });
      caller.close();
    }
    inspector.close();
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
