/** `npm run clients`: runs the programs of every client that is on this machine against one default server. */
import { textTable } from "../../src/machinery/command-line/output/text-table.ts";
import { startTemporaryServer } from "../test-server.ts";
import { clientPrograms, runProgram } from "./client-programs.ts";
import type { Command } from "./client-programs.ts";

const ways = [
  "written as k8s.io, read as k8s.io",
  "written as k8s.io, read as platform.io",
  "written as platform.io, read as k8s.io",
  "written as platform.io, read as platform.io",
];
const server = await startTemporaryServer();
const failures: string[] = [];
const missing: string[] = [];
const rows: string[][] = [];
for (const { name, version, howToInstall, suite, bothNames } of clientPrograms) {
  const found = version();
  if (found === undefined) {
    missing.push(`${name} is not on this machine: ${howToInstall}`);
    continue;
  }
  process.stderr.write(`${name} ${found} ...\n`);
  const worked = suite === undefined ? undefined : await tried(name, suite);
  const crossed = bothNames === undefined ? undefined : await tried(name, bothNames);
  const ofSuite = worked === undefined ? "" : worked.includes("everything") ? "ok" : "failed";
  rows.push([
    name,
    found,
    ofSuite,
    ...ways.map((way) => (crossed === undefined ? "" : crossed.includes(way) ? "ok" : "failed")),
  ]);
}
await server.stop();

const columns = [
  "client",
  "version",
  "its suite",
  "k8s.io",
  "k8s.io → platform.io",
  "platform.io → k8s.io",
  "platform.io",
];
console.log(textTable(rows, { header: columns }));
for (const line of [...missing, ...failures]) console.log(line);
process.exitCode = failures.length === 0 ? 0 : 1;

/** What worked before the first failure. The failure is reported at the end. */
async function tried(name: string, command: Command): Promise<string[]> {
  try {
    return await runProgram(command, server.kubeconfigFile);
  } catch (error) {
    failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    return [];
  }
}
