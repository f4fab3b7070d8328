/**
 * Compares the rate of answers, and how long the slowest take, with those of the bare server. Both servers are loaded in turns,
 * so that both meet the same machine. A ratio is of one round; the table has medians.
 *
 *   npm run bench:tail -- [--rounds N] [--seconds N] [--only WORKLOAD] [-- FLAGS OF serve]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { needPrograms } from "../tools/needed-programs.ts";
import { oneOf, programFlags, wholeNumber, words } from "../tools/program-flags.ts";
import { h2load } from "./load/h2load.ts";
import type { LoadResult } from "./load/h2load.ts";
import { Http2Caller } from "./load/http2-caller.ts";
import { median } from "./report/averages.ts";
import { markdownTable } from "./report/markdown-table.ts";
import { adminToken, startServerProcess } from "./processes/server-process.ts";
import { startBareServer } from "./processes/start-bare-server.ts";
import { prepareWorkloads, requestNames } from "./load/workloads.ts";

const {
  rounds: roundCount,
  seconds,
  only,
  flags,
} = programFlags(import.meta.filename, {
  rounds: wholeNumber(7),
  seconds: wholeNumber(4),
  only: oneOf(requestNames),
  flags: words(),
});
needPrograms(import.meta.filename, ["h2load"]);

const scratch = mkdtempSync(join(tmpdir(), "signet-tail-"));
const bare = await startBareServer();
const server = await startServerProcess(join(scratch, "data"), { flags });
const workloads = (await prepareWorkloads(server)).filter(({ name }) => only === undefined || only === name);
const caller = new Http2Caller(server.url, { ca: server.caCertificates, token: adminToken });

const loadBare = (): Promise<LoadResult> =>
  h2load({
    ...{ name: "bare", url: `${bare.url}/`, token: adminToken, seconds, scratch },
    cpuSeconds: bare.cpuSeconds,
  });

/** The longest time in milliseconds, since the last call, for which the event loop did not come to its timers. */
async function longestPause(): Promise<number> {
  const { text } = await caller.call("GET", "/metrics");
  const lagSeconds = /^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1];
  return Number(lagSeconds) * 1000 - lagResolutionMilliseconds;
}
/** Milliseconds that the runtime waits between two checks. The metric counts the whole time between them. */
const lagResolutionMilliseconds = 10;

interface Round {
  readonly share: number;
  readonly p50: number;
  readonly p99: number;
  readonly ofBare: number;
  readonly pause: number;
}

const rows: string[][] = [];
try {
  for (const { name, path, accept, body, token } of workloads) {
    const loadServer = (): Promise<LoadResult> =>
      h2load({
        ...{ name, url: server.url + path, token, accept, body, seconds, scratch },
        cpuSeconds: server.cpuSeconds,
      });
    // Compiles the code.
    await loadServer();
    const rounds: Round[] = [];
    for (let round = 0; round < roundCount; round++) {
      const ofBare = await loadBare();
      await longestPause();
      const own = await loadServer();
      rounds.push({
        share: (100 * own.perSecond) / ofBare.perSecond,
        p50: own.p50Milliseconds,
        p99: own.p99Milliseconds,
        ofBare: own.p99Milliseconds / ofBare.p99Milliseconds,
        pause: await longestPause(),
      });
    }
    const of = (part: keyof Round, digits = 1): string => median(rounds.map((round) => round[part])).toFixed(digits);
    rows.push([name, `${of("share", 0)} %`, of("p50"), of("p99"), of("ofBare"), of("pause")]);
  }
  console.log(
    markdownTable(["requests", "a second, of bare", "p50 ms", "p99 ms", "p99 / bare", "longest pause, ms"], rows),
  );
} finally {
  caller.close();
  bare.stop();
  await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
