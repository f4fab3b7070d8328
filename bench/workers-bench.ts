/**
 * Measures what workers gain when nothing else uses their cores. A server with several workers runs on one core, and the load on
 * another one. On the same core, in turns with it, run as many servers with one worker each, on a data directory each: they share
 * nothing, so on cores of their own each would answer as many as one server alone. How much less processor time a request takes
 * there than with the workers, times the number of workers, is "times as many": what the workers would answer on cores of their own.
 *
 *   npm run bench:workers -- [--workers N] [--rounds N] [--seconds N] [--only WORKLOAD] [-- FLAGS OF serve]
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { needPrograms } from "../tools/needed-programs.ts";
import { oneOf, programFlags, wholeNumber, words } from "../tools/program-flags.ts";
import { h2load } from "./load/h2load.ts";
import type { LoadResult } from "./load/h2load.ts";
import { median } from "./report/averages.ts";
import { inTurns } from "./load/in-turns.ts";
import { markdownTable } from "./report/markdown-table.ts";
import { startServerProcess } from "./processes/server-process.ts";
import type { ServerProcess } from "./processes/server-process.ts";
import { prepareWorkloads, requestNames } from "./load/workloads.ts";
import type { Workload } from "./load/workloads.ts";

const { workers, rounds, seconds, only, flags } = programFlags(import.meta.filename, {
  workers: wholeNumber(2),
  rounds: wholeNumber(15),
  seconds: wholeNumber(1),
  only: oneOf(requestNames),
  flags: words(),
});
needPrograms(import.meta.filename, ["h2load", "taskset"]);

interface Side {
  readonly server: ServerProcess;
  readonly workloads: readonly Workload[];
}

interface Answers {
  readonly perSecond: number;
  readonly cpuMicroseconds: number;
}

const scratch = mkdtempSync(join(tmpdir(), "signet-workers-"));
const onCore = (core: number): readonly string[] => ["taskset", "--cpu-list", String(core)];

const servers: ServerProcess[] = [];

async function startSide(name: string, count: number): Promise<Side> {
  const folder = join(scratch, name);
  mkdirSync(folder);
  const server = await startServerProcess(join(folder, "data"), {
    flags: [`--workers=${count}`, ...flags],
    launcher: onCore(0),
  });
  servers.push(server);
  return { server, workloads: await prepareWorkloads(server) };
}

/** Loads servers at the same time, with 16 connections for each worker. */
async function load(sides: readonly Side[], index: number): Promise<Answers> {
  const results = await Promise.all(
    sides.map(async ({ server, workloads }, side): Promise<LoadResult> => {
      const workload = workloads[index];
      if (workload === undefined) throw new Error("the servers have other workloads");
      const { name, path, accept, body, token } = workload;
      const folder = join(scratch, `load-${side}`);
      mkdirSync(folder, { recursive: true });
      return await h2load({
        ...{ name, url: `${server.url}${path}`, token, accept, body, seconds, scratch: folder },
        cpuSeconds: () => server.cpuSeconds(),
        launcher: onCore(1),
        connections: (16 * workers) / sides.length,
      });
    }),
  );
  const perSecond = results.reduce((sum, result) => sum + result.perSecond, 0);
  const cpuPerSecond = results.reduce((sum, result) => sum + result.cpuMicroseconds * result.perSecond, 0);
  return { perSecond, cpuMicroseconds: cpuPerSecond / perSecond };
}

try {
  const together = [await startSide("together", workers)];
  const apart: Side[] = [];
  for (let one = 1; one <= workers; one++) apart.push(await startSide(`apart-${one}`, 1));
  const rows: string[][] = [];
  for (const [index, { name }] of together.flatMap(({ workloads }) => workloads).entries()) {
    if (only !== undefined && only !== name) continue;
    // The first load compiles the code.
    for (const side of [apart, together]) await load(side, index);
    const { others, owns } = await inTurns({
      rounds,
      other: () => load(apart, index),
      own: () => load(together, index),
    });
    const gains = owns.map(
      ({ cpuMicroseconds }, round) => (workers * (others[round]?.cpuMicroseconds ?? 0)) / cpuMicroseconds,
    );
    const medianOf = (side: readonly Answers[], value: keyof Answers): string =>
      median(side.map((result) => result[value])).toFixed(0);
    rows.push([
      name,
      ...[others, owns].map((side) => medianOf(side, "perSecond")),
      ...[others, owns].map((side) => medianOf(side, "cpuMicroseconds")),
      median(gains).toFixed(2),
    ]);
  }
  const head = ["requests", "a second, apart", "a second, workers", "CPU µs, apart", "CPU µs, workers"];
  console.log(markdownTable([...head, "times as many"], rows));
} finally {
  for (const server of servers) await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
