import { loadavg } from "node:os";
import type { LoadResult } from "../load/h2load.ts";
import { markdownTable } from "./markdown-table.ts";
import type { FanOut } from "../load/watch-fan-out.ts";

export interface Timed {
  readonly medianMilliseconds: number;
  readonly bytes: number;
}

export interface Measured {
  /** The first is the bare server's. */
  readonly loads: Readonly<Record<string, LoadResult>>;
  /** The last is the bare server's. */
  readonly lists: Readonly<Record<string, Timed>>;
  readonly fanOuts: readonly FanOut[];
  readonly residentMebibytes: Readonly<Record<"idle" | "withObjects" | "end", number>>;
  readonly readyMilliseconds: Readonly<Record<"newDirectory" | "existingDirectory", number>>;
}

/** What a workload should reach, as a share of the bare server's requests a second. */
const targetShares: Readonly<Record<string, number>> = {
  get: 45,
  selfsubjectreview: 30,
  tokenreview: 30,
  tokenrequest: 18,
  create: 15,
};

/** The tables of docs/performance.md. */
export function markdownReport({ loads, lists, fanOuts, residentMebibytes, readyMilliseconds }: Measured): string {
  const ceiling = Object.values(loads)[0]?.perSecond ?? Number.NaN;
  const bareList = Object.values(lists).at(-1)?.medianMilliseconds ?? Number.NaN;
  return [
    `Load average when it ended: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(", ")}.`,
    markdownTable(
      ["requests", "a second", "of bare", "target", "CPU µs each", "p50 ms", "p99 ms", "failed"],
      Object.entries(loads).map(([name, load]) => [
        name,
        load.perSecond,
        `${((100 * load.perSecond) / ceiling).toFixed(0)} %`,
        targetShares[name] === undefined ? "" : `${targetShares[name]} %`,
        load.cpuMicroseconds.toFixed(0),
        load.p50Milliseconds.toFixed(2),
        load.p99Milliseconds.toFixed(2),
        load.failed,
      ]),
    ),
    markdownTable(
      ["list of service accounts", "median ms", "MiB", "times bare"],
      Object.entries(lists).map(([name, { medianMilliseconds, bytes }]) => [
        name,
        medianMilliseconds.toFixed(1),
        (bytes / 2 ** 20).toFixed(2),
        (medianMilliseconds / bareList).toFixed(1),
      ]),
    ),
    markdownTable(
      ["watches that read", "that do not", "writers", "bytes of an event", "delivered", "a second", "CPU µs each"],
      fanOuts.map(({ watchers, stalledWatchers, writers, eventBytes, delivered, expected, ...made }) => [
        watchers,
        stalledWatchers,
        writers,
        eventBytes,
        `${delivered} of ${expected}`,
        made.deliveriesPerSecond,
        made.cpuMicroseconds.toFixed(1),
      ]),
    ),
    markdownTable(
      ["of the process", "measured", "target"],
      [
        ["ready, new data directory", `${readyMilliseconds.newDirectory} ms`, ""],
        ["ready, existing data directory", `${readyMilliseconds.existingDirectory} ms`, "400 ms"],
        ["resident, idle", `${residentMebibytes.idle.toFixed(0)} MiB`, "120 MiB"],
        ["resident, after all writes and lists", `${residentMebibytes.withObjects.toFixed(0)} MiB`, "250 MiB"],
        ["resident, at the end", `${residentMebibytes.end.toFixed(0)} MiB`, ""],
      ],
    ),
  ].join("\n\n");
}
