/**
 * Compares the processor time for a request with that of another checkout. Both servers run at the same time and are loaded in
 * turns, so both meet the same machine, also one whose speed changes. The checkout needs its node_modules.
 *
 *   npm run bench:compare -- CHECKOUT [--rounds N] [--requests N] [--only WORKLOAD]
 */
import { mkdtempSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Http2Caller } from "./http2-caller.ts";
import { table } from "./markdown-report.ts";
import { threadSeconds } from "./process-cpu.ts";
import { startServerProcess } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { prepareWorkloads, sendRequests } from "./workloads.ts";
import type { Workload } from "./workloads.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "40" },
    requests: { type: "string", default: "300" },
    only: { type: "string" },
  },
});
const [otherCheckout] = positionals;
if (otherCheckout === undefined) {
  console.error("usage: npm run bench:compare -- CHECKOUT [--rounds N] [--requests N] [--only WORKLOAD]");
  process.exit(2);
}
const rounds = Number(options.rounds);
const requests = Number(options.requests);

interface Side {
  readonly server: ServerProcess;
  readonly workloads: readonly Workload[];
}

const scratch = mkdtempSync(join(tmpdir(), "signet-compare-"));

async function startSide(name: string, main: string): Promise<Side> {
  mkdirSync(join(scratch, name));
  const server = await startServerProcess(join(scratch, name, "data"), { main });
  return { server, workloads: await prepareWorkloads(server) };
}

/** Sends the requests, and returns the server's processor time for one, in microseconds. */
async function load({ server, workloads }: Side, index: number): Promise<number> {
  const workload = workloads[index];
  if (workload === undefined) throw new Error("the two sides have other workloads");
  const caller = new Http2Caller(server.url, { ca: server.caCertificates, token: workload.token });
  const before = threadSeconds(server.process.pid ?? 0);
  await sendRequests(caller, workload, requests);
  caller.close();
  return ((threadSeconds(server.process.pid ?? 0) - before) * 1e6) / requests;
}

const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;

const sides: Side[] = [];
try {
  const other = await startSide("other", join(resolve(otherCheckout), "src/main.js"));
  sides.push(other);
  const own = await startSide("this", join(import.meta.dirname, "../src/main.js"));
  sides.push(own);
  const rows: string[][] = [];
  for (const [index, { name }] of own.workloads.entries()) {
    if (options.only !== undefined && options.only !== name) continue;
    // The first rounds compile the code.
    for (let warm = 0; warm < 3; warm++) for (const side of sides) await load(side, index);
    const [others, owns]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      if (round % 2 === 0) others.push(await load(other, index));
      owns.push(await load(own, index));
      if (round % 2 === 1) others.push(await load(other, index));
    }
    const ratios = owns.map((one, round) => one / (others[round] ?? one)).sort((a, b) => a - b);
    rows.push([name, mean(others).toFixed(0), mean(owns).toFixed(0), (ratios[rounds >> 1] ?? 0).toFixed(2)]);
  }
  console.log(table(["CPU µs each", "other", "this", "this / other, median"], rows));
} finally {
  for (const { server } of sides) await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
