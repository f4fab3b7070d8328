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
import { threadSeconds } from "./process-cpu.ts";
import { startServerProcess } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { prepareWorkloads } from "./workloads.ts";
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
const inFlight = 32;

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
async function load({ server }: Side, workload: Workload): Promise<number> {
  const { name, path, body, token } = workload;
  const caller = new Http2Caller(server.url, { ca: server.caCertificates, token });
  const before = threadSeconds(server.process.pid ?? 0);
  let left = requests;
  const send = async (): Promise<void> => {
    while (left-- > 0) {
      const { status, text } = await caller.call(body === undefined ? "GET" : "POST", path, { body });
      if (status < 200 || status > 299) throw new Error(`${name}: ${status} ${text}`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, send));
  caller.close();
  return ((threadSeconds(server.process.pid ?? 0) - before) * 1e6) / requests;
}

const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
const row = (cells: readonly string[]): void => console.log(`| ${cells.join(" | ")} |`);

const sides: Side[] = [];
try {
  sides.push(await startSide("other", join(resolve(otherCheckout), "src/main.js")));
  sides.push(await startSide("this", join(import.meta.dirname, "../src/main.js")));
  row(["CPU µs each", "other", "this", "this / other, median"]);
  row(["---", "---:", "---:", "---:"]);
  for (const [index, { name }] of (sides[0]?.workloads ?? []).entries()) {
    if (options.only !== undefined && options.only !== name) continue;
    const once = async (side: Side | undefined): Promise<number> => {
      const workload = side?.workloads[index];
      return side === undefined || workload === undefined ? 0 : await load(side, workload);
    };
    const [other, own] = sides;
    // The first rounds compile the code.
    for (let warm = 0; warm < 3; warm++) for (const side of sides) await once(side);
    const [others, owns]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      if (round % 2 === 0) others.push(await once(other));
      owns.push(await once(own));
      if (round % 2 === 1) others.push(await once(other));
    }
    const ratios = owns.map((one, round) => one / (others[round] ?? one)).sort((a, b) => a - b);
    row([name, mean(others).toFixed(0), mean(owns).toFixed(0), (ratios[rounds >> 1] ?? 0).toFixed(2)]);
  }
} finally {
  for (const { server } of sides) await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
