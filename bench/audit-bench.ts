/**
 * What the audit log costs: CPU time of one request in this process, without TLS and HTTP, with the log off and on.
 *
 *   npm run bench:audit -- [--requests N]
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programFlags, wholeNumber } from "../tools/program-flags.ts";
import { startTemporaryServer } from "../test/test-server.ts";
import { InProcess } from "../test/server/in-process.ts";

const { requests } = programFlags(import.meta.filename, { requests: wholeNumber(20_000) });
const target = "/api/v1/namespaces/default/configmaps/one";
const rounds = 3;

const folder = mkdtempSync(join(tmpdir(), "signet-audit-bench-"));
const policy = (level: string): string => {
  const file = join(folder, `${level}.yaml`);
  writeFileSync(
    file,
    `apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: ${level}, omitStages: [RequestReceived] }]\n`,
  );
  return file;
};
const log = { "audit-log-path": join(folder, "audit.log") };
const ways: Readonly<Record<string, object>> = {
  off: {},
  "policy None": { ...log, "audit-policy-file": policy("None") },
  Metadata: { ...log, "audit-policy-file": policy("Metadata") },
  "Metadata, chained": { "audit-log-path": join(folder, "chained.log"), "audit-log-chain": true },
  RequestResponse: { ...log, "audit-policy-file": policy("RequestResponse") },
};

async function send(api: InProcess, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += 100) {
    await Promise.all(Array.from({ length: 100 }, () => api.send(target)));
    // During this pause, the file is written.
    await new Promise(setImmediate);
  }
}

/** CPU microseconds of a request, including the threads that write the file. */
async function cost(settings: object): Promise<number> {
  const server = await startTemporaryServer({ settings: { controllers: "-*", ...settings } });
  const api = new InProcess(server);
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one" }, data: { color: "blue" } };
  await api.send("/api/v1/namespaces/default/configmaps", { method: "POST", body });
  await send(api, requests / 4);
  const before = process.cpuUsage();
  await send(api, requests);
  const { user, system } = process.cpuUsage(before);
  await server.stop();
  return (user + system) / requests;
}

const best = new Map<string, number>();
for (let round = 0; round < rounds; round++) {
  for (const [name, settings] of Object.entries(ways)) {
    best.set(name, Math.min(best.get(name) ?? Infinity, await cost(settings)));
  }
}
console.log(`${requests} GETs of a ConfigMap, the best of ${rounds} rounds: CPU microseconds a request`);
for (const [name, microseconds] of best) console.log(name.padEnd(20), microseconds.toFixed(1).padStart(6));
rmSync(folder, { recursive: true, force: true });
