/**
 * Shows where the processor time of a request goes: a table of the parts of the request path for each workload, and with
 * `--pictures FOLDER` a flame graph of each, as SVG. The server's main thread is sampled ten thousand times a second.
 *
 *   npm run bench:time -- [--requests N] [--only WORKLOAD] [--pictures FOLDER] [-- FLAGS OF serve]
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { oneOf, programFlags, text, wholeNumber, words } from "../tools/program-flags.ts";
import { workloadNames } from "./load/workloads.ts";
import { callTree, microsecondsByLayer } from "./profile/call-tree.ts";
import type { CpuProfile } from "./profile/call-tree.ts";
import { flameGraph } from "./profile/flame-graph.ts";
import { inspectWorkloads } from "./profile/inspected-server.ts";
import { markdownTable } from "./report/markdown-table.ts";
import { requestLayers } from "./profile/request-layers.ts";
import type { Layer } from "./profile/request-layers.ts";

const { requests, only, pictures, flags } = programFlags(import.meta.filename, {
  requests: wholeNumber(10_000),
  only: oneOf(workloadNames),
  pictures: text(),
  flags: words(),
});
const sampleMicroseconds = 100;

const measured: { readonly name: string; readonly microseconds: ReadonlyMap<Layer, number> }[] = [];
await inspectWorkloads({ requests, flags, ...(only !== undefined && { only }) }, async ({ name, inspector, load }) => {
  await inspector.send("Profiler.enable");
  await inspector.send("Profiler.setSamplingInterval", { interval: sampleMicroseconds });
  await inspector.send("Profiler.start");
  await load();
  const { profile } = (await inspector.send("Profiler.stop")) as { profile: CpuProfile }; // the inspector's format
  const tree = callTree(profile);
  measured.push({ name, microseconds: microsecondsByLayer(tree) });
  if (pictures === undefined) return;
  mkdirSync(pictures, { recursive: true });
  const file = join(pictures, `${name}.svg`);
  const each = (tree.totalMicroseconds / requests).toFixed(0);
  writeFileSync(file, flameGraph(tree, `${name}: ${each} µs of the main thread a request`));
  console.error(`written: ${file}`);
});

const sum = (microseconds: ReadonlyMap<Layer, number>): number => [...microseconds.values()].reduce((a, b) => a + b, 0);
const rows = (Object.keys(requestLayers) as Layer[]).map((layer) => [
  layer,
  ...measured.map(({ microseconds }) => {
    const share = (microseconds.get(layer) ?? 0) / sum(microseconds);
    return share < 0.0005 ? "" : `${(share * 100).toFixed(1)} %`;
  }),
]);
const totals = [
  "µs of the main thread",
  ...measured.map(({ microseconds }) => (sum(microseconds) / requests).toFixed(0)),
];
const header = ["part of the request path", ...measured.map(({ name }) => name)];
console.log(markdownTable(header, [...rows, totals]));
