/**
 * Compares the processor time for a request with that of another checkout. Both servers run at the same time and are loaded in
 * turns, so both meet the same machine, also one whose speed changes. The checkout needs its node_modules. The last row is of whole
 * certificates: requested, approved, signed and recorded, with 64 in flight.
 *
 *   npm run bench:compare -- CHECKOUT [--rounds N] [--requests N] [--connections N] [--only WORKLOAD] [-- FLAGS OF serve]
 *
 * Only this checkout's server gets the flags: `-- . -- --workers=2` shows what the second worker costs.
 */
import { mkdtempSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { oneOf, programFlags, refuse, wholeNumber, words } from "../tools/program-flags.ts";
import { CertificateClient } from "./load/certificate-client.ts";
import { Http2Caller } from "./load/http2-caller.ts";
import { comparisonHead, comparisonRow, inTurns } from "./load/in-turns.ts";
import { markdownTable } from "./report/markdown-table.ts";
import { adminToken, startServerProcess } from "./processes/server-process.ts";
import type { ServerProcess, ServerProcessOptions } from "./processes/server-process.ts";
import { prepareWorkloads, sendRequests, workloadNames } from "./load/workloads.ts";
import type { Workload } from "./load/workloads.ts";

const { rounds, requests, connections, only, positionals } = programFlags(import.meta.filename, {
  rounds: wholeNumber(40),
  requests: wholeNumber(300),
  connections: wholeNumber(1),
  only: oneOf(workloadNames),
  positionals: words(),
});
const [otherCheckout, ...flags] = positionals;
if (otherCheckout === undefined) {
  refuse(import.meta.filename, "name the folder of the other CHECKOUT");
}

interface Side {
  readonly server: ServerProcess;
  readonly workloads: readonly Workload[];
}

const scratch = mkdtempSync(join(tmpdir(), "signet-compare-"));

async function startSide(name: string, program: ServerProcessOptions): Promise<Side> {
  mkdirSync(join(scratch, name));
  const server = await startServerProcess(join(scratch, name, "data"), program);
  return { server, workloads: await prepareWorkloads(server) };
}

/** Sends the requests, and returns the server's processor time for one, in microseconds. */
async function load({ server, workloads }: Side, index: number): Promise<number> {
  const workload = workloads[index];
  if (workload === undefined) throw new Error("the two sides have other workloads");
  const callers = Array.from(
    { length: connections },
    () => new Http2Caller(server.url, { ca: server.caCertificates, token: workload.token }),
  );
  const before = server.cpuSeconds();
  await Promise.all(callers.map((caller) => sendRequests(caller, workload, requests)));
  for (const caller of callers) caller.close();
  return ((server.cpuSeconds() - before) * 1e6) / requests / connections;
}

/** Returns a function that issues certificates and resolves with the server's processor time for one, in microseconds. */
function certificateTurns(server: ServerProcess): { turn(): Promise<number>; close(): void } {
  const caller = new Http2Caller(server.url, { ca: server.caCertificates, token: adminToken });
  const client = new CertificateClient(caller);
  return {
    async turn() {
      const before = server.cpuSeconds();
      await client.issue(requests, { concurrency: 64 });
      return ((server.cpuSeconds() - before) * 1e6) / requests;
    },
    close() {
      client.close();
      caller.close();
    },
  };
}

async function compareCertificates(other: ServerProcess, own: ServerProcess): Promise<string[]> {
  const [others, owns] = [certificateTurns(other), certificateTurns(own)];
  for (let warm = 0; warm < 3; warm++) for (const side of [others, owns]) await side.turn();
  const costs = await inTurns({ rounds, other: () => others.turn(), own: () => owns.turn() });
  for (const side of [others, owns]) side.close();
  return comparisonRow("certificate", costs);
}

const sides: Side[] = [];
try {
  const other = await startSide("other", { main: join(resolve(otherCheckout), "src/main.js") });
  sides.push(other);
  const own = await startSide("this", { main: join(import.meta.dirname, "../src/main.js"), flags });
  sides.push(own);
  const rows: string[][] = [];
  for (const [index, { name }] of own.workloads.entries()) {
    if (only !== undefined && only !== name) continue;
    // The first rounds compile the code.
    for (let warm = 0; warm < 3; warm++) for (const side of sides) await load(side, index);
    const costs = await inTurns({ rounds, other: () => load(other, index), own: () => load(own, index) });
    rows.push(comparisonRow(name, costs));
  }
  if (only === undefined || only === "certificate") rows.push(await compareCertificates(other.server, own.server));
  console.log(markdownTable(comparisonHead, rows));
} finally {
  for (const { server } of sides) await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
