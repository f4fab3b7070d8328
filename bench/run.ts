/**
 * Loads a server over HTTP/2 and TLS with h2load and prints one table, as shares of what a bare HTTPS server of this
 * runtime does in the same run on the same machine.
 *
 *   npm run bench -- [--seconds N] [--objects N] [--watchers N] [--lists-only] [--json FILE] [--markdown] [-- FLAGS OF serve]
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { needPrograms } from "../tools/needed-programs.ts";
import { isGiven, programFlags, text, wholeNumber, words } from "../tools/program-flags.ts";
import { h2load } from "./load/h2load.ts";
import type { LoadResult } from "./load/h2load.ts";
import { Http2Caller } from "./load/http2-caller.ts";
import { markdownReport } from "./report/markdown-report.ts";
import type { Timed } from "./report/markdown-report.ts";
import { adminToken, startServerProcess } from "./processes/server-process.ts";
import { startBareServer } from "./processes/start-bare-server.ts";
import { watchFanOut } from "./load/watch-fan-out.ts";
import type { FanOut } from "./load/watch-fan-out.ts";
import { accounts, prepareWorkloads, serviceAccount } from "./load/workloads.ts";

const {
  seconds,
  objects,
  watchers,
  json,
  "lists-only": listsOnly,
  markdown,
  serveFlags,
} = programFlags(import.meta.filename, {
  seconds: wholeNumber(5),
  objects: wholeNumber(10_000),
  watchers: wholeNumber(500),
  json: text(),
  "lists-only": isGiven(),
  markdown: isGiven(),
  serveFlags: words(),
});
needPrograms(import.meta.filename, ["h2load"]);
const scratch = mkdtempSync(join(tmpdir(), "signet-bench-"));
const dataDirectory = join(scratch, "data");

const first = await startServerProcess(dataDirectory, { flags: serveFlags });
await first.stop();
const server = await startServerProcess(dataDirectory, { flags: serveFlags });
const bare = await startBareServer();
const caller = new Http2Caller(server.url, { ca: server.caCertificates, token: adminToken });
const workloads = await prepareWorkloads(server);
const idleMebibytes = server.residentMebibytes();
const loads = await measureLoads();
const lists = await measureLists();
const withObjectsMebibytes = server.residentMebibytes();
const fanOuts = await measureFanOuts();
const residentMebibytes = { idle: idleMebibytes, withObjects: withObjectsMebibytes, end: server.residentMebibytes() };
const readyMilliseconds = { newDirectory: first.readyMilliseconds, existingDirectory: server.readyMilliseconds };
console.log("resident MiB", JSON.stringify(residentMebibytes));
console.log("ready ms", JSON.stringify(readyMilliseconds));
if (markdown) console.log(`\n${markdownReport({ loads, lists, fanOuts, residentMebibytes, readyMilliseconds })}`);
caller.close();
bare.stop();
await server.stop();
rmSync(scratch, { recursive: true, force: true });
if (json !== undefined) {
  const results = { readyMilliseconds, loads, lists, watch: fanOuts, residentMebibytes };
  writeFileSync(json, JSON.stringify(results, null, 1));
}

/** Loads the bare server, then the server with each workload. */
async function measureLoads(): Promise<Record<string, LoadResult>> {
  const ceiling = await h2load({
    name: "bare",
    url: `${bare.url}/`,
    token: adminToken,
    seconds,
    cpuSeconds: bare.cpuSeconds,
    scratch,
  });
  const measured: Record<string, LoadResult> = { "bare server": ceiling };
  for (const { name, path, accept, body, token } of listsOnly ? [] : workloads) {
    const { cpuSeconds } = server;
    measured[name] = await h2load({ name, url: server.url + path, token, accept, body, seconds, cpuSeconds, scratch });
  }
  console.log("workload             requests/s   share   p50 ms   p99 ms   failed");
  for (const [name, load] of Object.entries(measured)) {
    const share = `${((100 * load.perSecond) / ceiling.perSecond).toFixed(0)} %`;
    const { p50Milliseconds, p99Milliseconds } = load;
    const cells = [load.perSecond, share, p50Milliseconds.toFixed(2), p99Milliseconds.toFixed(2), load.failed];
    console.log(name.padEnd(18), ...cells.map((cell) => String(cell).padStart(8)));
  }
  return measured;
}

/** Makes many objects, and reads them in lists. The bare server answers with as many bytes. */
async function measureLists(): Promise<Record<string, Timed>> {
  const big = "/api/v1/namespaces/bench-big/serviceaccounts";
  await caller.call("POST", "/api/v1/namespaces", {
    body: { apiVersion: "v1", kind: "Namespace", metadata: { name: "bench-big" } },
  });
  for (let from = 0; from < objects; from += 200) {
    const batch = Array.from({ length: Math.min(200, objects - from) }, (_, offset) => from + offset);
    await Promise.all(batch.map((n) => caller.call("POST", big, { body: bigAccount(n) })));
  }
  const measured: Record<string, Timed> = {
    "list at 0": await timed(caller, `${big}?resourceVersion=0`),
    "list consistent": await timed(caller, big),
    "page of 500": await timed(caller, `${big}?limit=500`),
    "label selector": await timed(caller, `${big}?labelSelector=team%3Dt7`),
  };
  const bareCaller = new Http2Caller(bare.url, { ca: undefined, token: "" });
  measured["bare, same bytes"] = await timed(bareCaller, `/bytes/${measured["list at 0"]?.bytes ?? 0}`);
  bareCaller.close();
  console.log("\nlist                 median ms      MiB");
  for (const [name, { medianMilliseconds, bytes }] of Object.entries(measured)) {
    console.log(
      name.padEnd(18),
      medianMilliseconds.toFixed(1).padStart(10),
      (bytes / 1_048_576).toFixed(2).padStart(8),
    );
  }
  return measured;
}

function bigAccount(n: number): object {
  const labels = { team: `t${n % 50}`, app: "bench" };
  const account = serviceAccount({ name: `account-${n}`, labels, annotations: { note: "x".repeat(120) } });
  return { ...(account as object), secrets: [{ name: "one" }] };
}

async function timed(via: Http2Caller, path: string): Promise<Timed> {
  const samples: number[] = [];
  let bytes = 0;
  for (let round = 0; round < 9; round++) {
    const start = performance.now();
    bytes = (await via.call("GET", path)).text.length;
    samples.push(performance.now() - start);
  }
  samples.sort((a, b) => a - b);
  return { medianMilliseconds: samples[4] ?? 0, bytes };
}

/** Writes objects that many watches must get. */
async function measureFanOuts(): Promise<FanOut[]> {
  const measured: FanOut[] = [];
  for (const round of [
    { label: "one-writer", writers: 1, noteBytes: 0, stalledWatchers: 0 },
    { label: "short", writers: 16, noteBytes: 0, stalledWatchers: 0 },
    { label: "long", writers: 16, noteBytes: 4096, stalledWatchers: 0 },
    // So long that the events do not fit into the buffers of a connection whose client does not read.
    { label: "some-stall", writers: 16, noteBytes: 4096, stalledWatchers: 10 },
  ]) {
    measured.push(await watchFanOut({ ...round, server, accounts, watchers, writes: 400 }));
  }
  console.log("\nwatch fan-out");
  for (const one of measured) console.log(JSON.stringify(one));
  return measured;
}
