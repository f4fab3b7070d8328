/**
 * Measures how many certificates a second are requested, approved and signed over HTTP/2 and TLS, durable in the embedded store and
 * recorded in the inventory. Compares this with plain signatures of the same CA key. Then measures how much processor time each
 * certificate takes in which threads: the event loop's, V8's (garbage collection, compilation), and the pool's (signature checks,
 * writes).
 *
 *   npm run bench:issue -- [--requests N] [--concurrency N] [--approver client|policy] [-- FLAGS OF serve]
 */
import { sign } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { oneOf, programFlags, wholeNumber, words } from "../tools/program-flags.ts";
import { parsePrivateKeyPem } from "../src/pki/keys/keys.ts";
import { approvingPolicy, CertificateClient } from "./load/certificate-client.ts";
import { Http2Caller } from "./load/http2-caller.ts";
import { markdownTable } from "./report/markdown-table.ts";
import { secondsByThreads } from "./processes/process-cpu.ts";
import { adminToken, startServerProcess } from "./processes/server-process.ts";
import type { ServerProcess } from "./processes/server-process.ts";

const {
  requests: requestCount,
  concurrency,
  approver,
  serveFlags,
} = programFlags(import.meta.filename, {
  requests: wholeNumber(10_000),
  concurrency: wholeNumber(64),
  approver: oneOf(["client", "policy"], "client"),
  serveFlags: words(),
});
const warmUpCount = Math.ceil(requestCount / 5);
const scratch = mkdtempSync(join(tmpdir(), "signet-bench-"));
const dataDirectory = join(scratch, "data");
const policyFile = join(scratch, "policy.yaml");
writeFileSync(policyFile, approvingPolicy);
const policyFlags = approver === "policy" ? [`--approval-policy=${policyFile}`] : [];
const server = await startServerProcess(dataDirectory, { flags: [...policyFlags, ...serveFlags] });
const caller = new Http2Caller(server.url, { ca: server.caCertificates, token: adminToken });

const client = new CertificateClient(caller, { approver });
const issue = (count: number): Promise<void> => client.issue(count, { concurrency: concurrency });

/** Of the server's own process. */
const threadSecondsOf = ({ process: { pid = 0 } }: ServerProcess): ReadonlyMap<string, number> => secondsByThreads(pid);

/** Signatures of the CA's key for each second of CPU, over as many bytes as a certificate has. */
function bareSignatures(): number {
  const key = parsePrivateKeyPem(readFileSync(join(dataDirectory, "apiserver-client-ca.key")));
  const contents = Buffer.alloc(350, 7);
  for (let warm = 0; warm < 2000; warm++) sign("sha256", contents, key);
  const start = process.cpuUsage();
  let count = 0;
  let cpuSeconds = 0;
  while (cpuSeconds < 1) {
    for (let batch = 0; batch < 100; batch++) sign("sha256", contents, key);
    count += 100;
    const { user, system } = process.cpuUsage(start);
    cpuSeconds = (user + system) / 1e6;
  }
  return count / cpuSeconds;
}

try {
  await issue(warmUpCount);
  const cpuBefore = server.cpuSeconds();
  const threadsBefore = threadSecondsOf(server);
  const startedAt = performance.now();
  await issue(requestCount);
  const perSecond = (1000 * requestCount) / (performance.now() - startedAt);
  const perCpuSecond = requestCount / (server.cpuSeconds() - cpuBefore);
  const threadsAfter = threadSecondsOf(server);
  const bare = bareSignatures();
  const share = (one: number): string => `${((100 * one) / bare).toFixed(1)} %`;
  const rows = [
    ["requested, approved, signed and recorded, a second", Math.round(perSecond), share(perSecond)],
    ["the same, a second of the server's CPU", Math.round(perCpuSecond), share(perCpuSecond)],
    ["bare ECDSA P-256 signatures of the same key, a second of CPU", Math.round(bare), "100 %"],
  ];
  console.log(markdownTable(["what", "count", "of the bare rate"], rows));
  const microseconds = ([name, seconds]: readonly [string, number]): [string, number] => [
    name,
    Math.round((1e6 * (seconds - (threadsBefore.get(name) ?? 0))) / requestCount),
  ];
  const threads = [...threadsAfter].map(microseconds).filter(([, each]) => each > 0);
  console.log(`\n${markdownTable(["threads of the server", "CPU µs for a certificate"], threads)}`);
} finally {
  client.close();
  caller.close();
  await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
