/**
 * Measures what the server costs a machine: space on the disk, time until it is ready, and memory and processor time while
 * nobody asks it anything. The installed package and the checkout start in turns, so that both meet the same machine.
 *
 *   npm run bench:sizes -- [--seconds N]
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { programFlags, wholeNumber } from "../tools/program-flags.ts";
import { median } from "./report/averages.ts";
import { installPackage } from "./processes/installed-package.ts";
import { markdownTable } from "./report/markdown-table.ts";
import { startServerProcess } from "./processes/server-process.ts";

const { seconds: idleSeconds } = programFlags(import.meta.filename, { seconds: wholeNumber(60) });
/** After the start, the loops have their first turn and the runtime collects its garbage. */
const settleSeconds = 15;
const starts = 5;

const scratch = mkdtempSync(join(tmpdir(), "signet-sizes-"));
const root = join(import.meta.dirname, "..");
const mebibytes = (kibibytes: string): string => `${(Number.parseInt(kibibytes, 10) / 1024).toFixed(1)} MiB`;
const onDisk = (path: string): string => mebibytes(execFileSync("du", ["-sk", path], { encoding: "utf8" }));

const { archive, folder: installed, main } = installPackage(scratch);
console.log(`packed (npm pack): ${onDisk(archive)}`);
const runtimes = readdirSync(join(installed, "node_modules")).filter((name) =>
  /^node-(bin-)?(linux|darwin)/.test(name),
);
console.log(`installed, with its Node.js: ${onDisk(installed)}`);
for (const name of runtimes) console.log(`of it ${name}: ${onDisk(join(installed, "node_modules", name))}`);

interface Program {
  readonly name: string;
  readonly main: string;
}

interface Start {
  readonly readyMilliseconds: number;
  readonly cpuMilliseconds: number;
}

const programs: readonly Program[] = [
  { name: "installed", main },
  { name: "checkout", main: join(root, "src/main.js") },
];

const directory = ({ name }: Program, turn: number): string => {
  const folder = join(scratch, `${name}-${turn}`);
  mkdirSync(folder, { recursive: true });
  return join(folder, "data");
};

async function start(dataDirectory: string, { main }: Program): Promise<Start> {
  const server = await startServerProcess(dataDirectory, { main });
  const { readyMilliseconds } = server;
  const cpuMilliseconds = server.cpuSeconds() * 1000;
  await server.stop();
  return { readyMilliseconds, cpuMilliseconds };
}

interface Idle {
  readonly residentMebibytes: number;
  readonly share: number;
}

async function idle(program: Program): Promise<Idle> {
  const server = await startServerProcess(directory(program, 0), { main: program.main });
  await delay(settleSeconds * 1000);
  const before = server.cpuSeconds();
  await delay(idleSeconds * 1000);
  const share = (server.cpuSeconds() - before) / idleSeconds;
  const residentMebibytes = server.residentMebibytes();
  await server.stop();
  return { residentMebibytes, share };
}

const onNew = new Map<Program, Start[]>(programs.map((program) => [program, []]));
const onExisting = new Map<Program, Start[]>(programs.map((program) => [program, []]));
// The first start of each compiles its code.
for (const program of programs) await start(directory(program, starts), program);
for (let turn = 0; turn < starts; turn += 1) {
  for (const program of programs) onNew.get(program)?.push(await start(directory(program, turn), program));
  for (const program of programs) onExisting.get(program)?.push(await start(directory(program, turn), program));
}
const idles = await Promise.all(programs.map(idle));
rmSync(scratch, { recursive: true, force: true });

const startsRow = (what: string, starts: ReadonlyMap<Program, readonly Start[]>, of: (start: Start) => number) => [
  what,
  ...programs.map((program) => `${median((starts.get(program) ?? []).map(of)).toFixed(0)} ms`),
];
const rows = [
  startsRow("ready, new data directory", onNew, ({ readyMilliseconds }) => readyMilliseconds),
  startsRow("ready, existing data directory", onExisting, ({ readyMilliseconds }) => readyMilliseconds),
  startsRow("CPU until then, existing", onExisting, ({ cpuMilliseconds }) => cpuMilliseconds),
  ["idle, resident", ...idles.map(({ residentMebibytes }) => `${residentMebibytes.toFixed(0)} MiB`)],
  ["idle, of a core", ...idles.map(({ share }) => `${(100 * share).toFixed(2)} %`)],
];
console.log(markdownTable(["the server", ...programs.map(({ name }) => name)], rows));
