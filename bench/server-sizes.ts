/**
 * Measures what the server costs a machine: space on the disk, time until it is ready, and memory and processor time while
 * nobody asks it anything.
 *
 *   npm run bench:sizes -- [--seconds N]
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { processCpuSeconds } from "./process-cpu.ts";
import { startServerProcess } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";

const { values: options } = parseArgs({ options: { seconds: { type: "string", default: "60" } } });
const idleSeconds = Number(options.seconds);
/** After the start, the loops have their first turn and the runtime collects its garbage. */
const settleSeconds = 15;
const starts = 5;

const scratch = mkdtempSync(join(tmpdir(), "signet-sizes-"));
const root = join(import.meta.dirname, "..");
const rows: [string, string][] = [];
const run = (program: string, words: readonly string[], cwd = root): string =>
  execFileSync(program, words, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
const mebibytes = (kibibytes: string): string => `${(Number.parseInt(kibibytes, 10) / 1024).toFixed(1)} MiB`;
const onDisk = (path: string): string => mebibytes(run("du", ["-sk", path]));

run("npm", ["pack", "--pack-destination", scratch]);
const [archive = ""] = readdirSync(scratch).filter((name) => name.endsWith(".tgz"));
rows.push(["packed (npm pack)", onDisk(join(scratch, archive))]);
const installed = join(scratch, "installed");
run("npm", ["install", "--no-audit", "--no-fund", "--prefix", installed, join(scratch, archive)], scratch);
const runtimes = readdirSync(join(installed, "node_modules")).filter((name) =>
  /^node-(bin-)?(linux|darwin)/.test(name),
);
rows.push(["installed, with its Node.js", onDisk(installed)]);
for (const name of runtimes) rows.push([`of it ${name}`, onDisk(join(installed, "node_modules", name))]);

const newDirectory = (turn: number): string => {
  mkdirSync(join(scratch, `new-${turn}`));
  return join(scratch, `new-${turn}`, "data");
};
const existingDirectory = join(scratch, "new-0", "data");

/** The middle one of some starts. */
async function readyMilliseconds(directory: (turn: number) => string): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < starts; turn += 1) {
    const server = await startServerProcess(directory(turn));
    times.push(server.readyMilliseconds);
    await server.stop();
  }
  return times.sort((a, b) => a - b)[starts >> 1] ?? 0;
}
rows.push(["ready, new data directory", `${await readyMilliseconds(newDirectory)} ms`]);
rows.push(["ready, existing data directory", `${await readyMilliseconds(() => existingDirectory)} ms`]);

async function idle(server: ServerProcess): Promise<void> {
  await delay(settleSeconds * 1000);
  const id = server.process.pid ?? 0;
  const before = processCpuSeconds(id);
  await delay(idleSeconds * 1000);
  const share = (100 * (processCpuSeconds(id) - before)) / idleSeconds;
  rows.push(["idle, resident", `${server.residentMebibytes().toFixed(0)} MiB`]);
  rows.push(["idle, of a core", `${share.toFixed(2)} %`]);
}
const server = await startServerProcess(existingDirectory);
await idle(server);
await server.stop();
rmSync(scratch, { recursive: true, force: true });
const width = Math.max(...rows.map(([name]) => name.length));
for (const [name, value] of rows) console.log(`| ${name.padEnd(width)} | ${value.padStart(10)} |`);
