/**
 * Measures what workers gain when nothing else uses their cores. A server with one worker and one with several run on the same
 * core, and the load on another one. Both are loaded in turns. On a core each, n workers would answer n times what they answer
 * together on one core: that is "times as many".
 *
 *   npm run bench:workers -- [--workers N] [--rounds N] [--seconds N] [--only WORKLOAD] [-- FLAGS OF serve]
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { h2load } from "./h2load.ts";
import type { LoadResult } from "./h2load.ts";
import { inTurns, median } from "./in-turns.ts";
import { table } from "./markdown-report.ts";
import { startServerProcess } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { prepareWorkloads } from "./workloads.ts";
import type { Workload } from "./workloads.ts";

const { values: options, positionals: flags } = parseArgs({
  allowPositionals: true,
  options: {
    workers: { type: "string", default: "2" },
    rounds: { type: "string", default: "15" },
    seconds: { type: "string", default: "1" },
    only: { type: "string" },
  },
});
const [rounds, seconds, workers] = [Number(options.rounds), Number(options.seconds), Number(options.workers)];

interface Side {
  readonly server: ServerProcess;
  readonly workloads: readonly Workload[];
}

const scratch = mkdtempSync(join(tmpdir(), "signet-workers-"));
const onCore = (core: number): readonly string[] => ["taskset", "--cpu-list", String(core)];

async function startSide(count: number): Promise<Side> {
  const folder = join(scratch, String(count));
  mkdirSync(folder);
  const server = await startServerProcess(join(folder, "data"), {
    flags: [`--workers=${count}`, ...flags],
    launcher: onCore(0),
  });
  return { server, workloads: await prepareWorkloads(server) };
}

async function load({ server, workloads }: Side, index: number): Promise<LoadResult> {
  const workload = workloads[index];
  if (workload === undefined) throw new Error("the two sides have other workloads");
  const { name, path, body, token } = workload;
  return await h2load({
    ...{ name, url: `${server.url}${path}`, token, body, seconds, scratch },
    cpuSeconds: () => server.cpuSeconds(),
    launcher: onCore(1),
    connections: 16 * workers,
  });
}

const servers: ServerProcess[] = [];
try {
  const one = await startSide(1);
  servers.push(one.server);
  const several = await startSide(workers);
  servers.push(several.server);
  const rows: string[][] = [];
  for (const [index, { name }] of one.workloads.entries()) {
    if (options.only !== undefined && options.only !== name) continue;
    // The first load compiles the code.
    for (const side of [one, several]) await load(side, index);
    const { others, owns } = await inTurns({ rounds, other: () => load(one, index), own: () => load(several, index) });
    const gains = owns.map(({ perSecond }, round) => (workers * perSecond) / (others[round]?.perSecond ?? perSecond));
    const medianOf = (side: readonly LoadResult[], value: keyof LoadResult): string =>
      median(side.map((result) => result[value])).toFixed(0);
    rows.push([
      name,
      ...[others, owns].map((side) => medianOf(side, "perSecond")),
      ...[others, owns].map((side) => medianOf(side, "cpuMicroseconds")),
      median(gains).toFixed(2),
    ]);
  }
  const head = ["requests", "a second, one", `a second, ${workers}`, "CPU µs, one", `CPU µs, ${workers}`];
  console.log(table([...head, "times as many"], rows));
} finally {
  for (const server of servers) await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
