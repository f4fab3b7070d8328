/**
 * Patches objects while thousands of watches are open that want one other object each, and prints what a patch costs the
 * server. An event should cost only the watches that want it. Then delivers objects to many watches of all of them.
 *
 *   npm run bench:watches -- [--watchers N] [--patches N] [--wide N]
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programFlags, wholeNumber } from "../tools/program-flags.ts";
import { Http2Caller } from "./load/http2-caller.ts";
import { repeatConcurrently } from "./load/repeat-concurrently.ts";
import { adminToken, startServerProcess } from "./processes/server-process.ts";
import { watchFanOut } from "./load/watch-fan-out.ts";
import { accounts, prepareWorkloads, serviceAccount } from "./load/workloads.ts";

const {
  watchers: narrowWatchers,
  patches,
  wide,
} = programFlags(import.meta.filename, {
  watchers: wholeNumber(5000),
  patches: wholeNumber(3000),
  wide: wholeNumber(500),
});
/** Objects that are patched at the same time; patches of one object would wait for each other. */
const lanes = 8;
const watchersPerConnection = 100;
const scratch = mkdtempSync(join(tmpdir(), "signet-watches-"));
const server = await startServerProcess(join(scratch, "data"));
await prepareWorkloads(server);
const connect = (): Http2Caller => new Http2Caller(server.url, { ca: server.caCertificates, token: adminToken });
const [writer, connections] = [connect(), [] as Http2Caller[]];

for (let lane = 0; lane < lanes; lane += 1) {
  await writer.call("POST", accounts, { body: serviceAccount({ name: `lane-${lane}` }) });
}

const patchAll = (): Promise<void> =>
  repeatConcurrently({ times: patches, concurrency: lanes }, async (index, lane) => {
    const body = { metadata: { annotations: { turn: String(index) } } };
    const { status, text } = await writer.call("PATCH", `${accounts}/lane-${lane}`, { body });
    if (status !== 200) throw new Error(text);
  });

console.log("watches of other objects   CPU µs a patch   patches/s");
for (const watchers of [0, narrowWatchers]) {
  let caller = connect();
  for (let n = 0; n < watchers; n += 1) {
    if (n % watchersPerConnection === 0) connections.push((caller = connect()));
    const path = `${accounts}?watch=true&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dother-${n}`;
    const stream = caller.watch(path, () => {});
    if (n % watchersPerConnection === watchersPerConnection - 1) await once(stream, "response");
  }
  await patchAll();
  const [cpu, start] = [server.cpuSeconds(), performance.now()];
  await patchAll();
  const microseconds = ((server.cpuSeconds() - cpu) * 1e6) / patches;
  const perSecond = patches / ((performance.now() - start) / 1000);
  console.log(String(watchers).padStart(24), microseconds.toFixed(0).padStart(16), perSecond.toFixed(0).padStart(11));
}
for (const connection of [writer, ...connections]) connection.close();
console.log("watches of all   writers   bytes of an event   deliveries   a second   CPU µs a delivery");
const rounds = [1, 16].flatMap((writers) => [0, 4096].map((noteBytes) => ({ writers, noteBytes })));
for (const [round, { writers, noteBytes }] of rounds.entries()) {
  const load = { watchers: wide, writes: 400, writers, stalledWatchers: 0, noteBytes };
  const made = await watchFanOut({ server, accounts, label: `wide-${round}`, ...load });
  const { watchers, eventBytes, delivered, deliveriesPerSecond, cpuMicroseconds } = made;
  const cells = [watchers, writers, eventBytes, delivered, deliveriesPerSecond, cpuMicroseconds.toFixed(1)];
  console.log(cells.map((cell, column) => String(cell).padStart([14, 9, 19, 12, 10, 19][column] ?? 0)).join(" "));
}
await server.stop();
rmSync(scratch, { recursive: true, force: true });
