import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CertificateClient } from "../load/certificate-client.ts";
import { freePort } from "../processes/free-ports.ts";
import { Http2Caller } from "../load/http2-caller.ts";
import { Inspector } from "./inspector.ts";
import { adminToken, startServerProcess } from "../processes/server-process.ts";
import { prepareWorkloads, sendRequests } from "../load/workloads.ts";

export interface InspectedWorkloads {
  /** How many requests of each workload are counted. The same number warms the server up before them. */
  readonly requests: number;
  /** Flags of `signet serve`. */
  readonly flags?: readonly string[];
  /** Flags of Node.js. */
  readonly runtimeFlags?: readonly string[];
  /** The name of the one workload to measure. */
  readonly only?: string;
  /** Called with the server's process as soon as it runs. */
  readonly onSpawned?: (process: ChildProcess) => void;
}

export interface InspectedWorkload {
  readonly name: string;
  readonly inspector: Inspector;
  /** Of the server. */
  readonly processId: number;
  /** Sends the requests. Rejects when one is not answered with 2xx. */
  readonly load: () => Promise<void>;
  /** Sends one request while no other is in flight. Rejects like `load`. */
  readonly sendOne: () => Promise<void>;
}

/** All steps of a certificate: its request, its approval, its signature and its record. */
const certificateWorkload = "certificate";

/** Starts a server in a separate process, warms it up with each workload, and calls `measure` before the counted requests. */
export async function inspectWorkloads(
  { requests, flags = [], runtimeFlags = [], only, onSpawned }: InspectedWorkloads,
  measure: (workload: InspectedWorkload) => Promise<void>,
): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "signet-inspected-"));
  const port = await freePort();
  const server = await startServerProcess(join(scratch, "data"), {
    flags,
    runtimeFlags: [`--inspect=127.0.0.1:${port}`, "--inspect-publish-uid=http", ...runtimeFlags],
    ...(onSpawned !== undefined && { onSpawned }),
  });
  try {
    const inspector = await Inspector.connect(port);
    const { pid: processId = 0 } = server.process; // it runs
    const inspect = async (
      name: string,
      token: string,
      senderOf: (caller: Http2Caller) => (count: number) => Promise<void>,
    ) => {
      if (only !== undefined && name !== only) return;
      const caller = new Http2Caller(server.url, { ca: server.caCertificates, token });
      const send = senderOf(caller);
      const load = (): Promise<void> => send(requests);
      await load();
      await measure({ name, inspector, processId, load, sendOne: () => send(1) });
      caller.close();
    };
    for (const workload of await prepareWorkloads(server)) {
      await inspect(workload.name, workload.token, (caller) => (count) => sendRequests(caller, workload, count));
    }
    await inspect(certificateWorkload, adminToken, (caller) => {
      const client = new CertificateClient(caller);
      return (count) => client.issue(count, { concurrency: Math.min(count, 32) });
    });
    inspector.close();
  } finally {
    await server.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}
