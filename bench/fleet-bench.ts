/**
 * Measures one server under a fleet of machines: enrolment (two certificates, Node, Lease for each), heartbeats every ten
 * seconds beside a watch of a trust bundle for each, a change of that bundle, and renewals. The machines are simulated by one
 * process on the same computer, and share its cores with the server.
 *
 *   npm run bench:fleet -- [--agents N] [--enrol-seconds N] [--steady-seconds N] [-- FLAGS OF serve]
 */
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { programFlags, wholeNumber, words } from "../tools/program-flags.ts";
import { bootstrapGroup, permitNodeBootstrap } from "../src/features/nodes/bootstrap/bootstrap-permissions.ts";
import { newBootstrapToken } from "../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import { clusterTrustBundleResource } from "../src/features/certificates/resources.ts";
import { secretResource } from "../src/features/core/resources.ts";
import { namesFor } from "../src/machinery/api/names.ts";
import { ApiClient } from "../src/machinery/client/api-client.ts";
import { httpsTransport } from "../src/machinery/client/https/https-transport.ts";
import { FleetAgent } from "./load/fleet-agent.ts";
import { markdownTable } from "./report/markdown-table.ts";
import { processCpuSeconds, stolenSeconds } from "./processes/process-cpu.ts";
import { adminToken, startServerProcess } from "./processes/server-process.ts";
import { writeServingApprovalPolicy } from "./load/serving-approval-policy.ts";

const {
  agents: agentCount,
  "enrol-seconds": enrolSeconds,
  "steady-seconds": steadySeconds,
  serveFlags,
} = programFlags(import.meta.filename, {
  agents: wholeNumber(2000),
  "enrol-seconds": wholeNumber(50),
  "steady-seconds": wholeNumber(60),
  serveFlags: words(),
});
const heartbeatSeconds = 10;
const bundleName = "fleet";

const scratch = mkdtempSync(join(tmpdir(), "signet-fleet-"));
const server = await startServerProcess(join(scratch, "data"), {
  flags: [
    writeServingApprovalPolicy(join(scratch, "policy.yaml")),
    "--max-connections=100000",
    "--max-connections-per-address=100000",
    ...serveFlags,
  ],
});
const names = namesFor("platform");
const caCertificates = server.caCertificates.toString("utf8");
const admin = new ApiClient(httpsTransport({ server: server.url, caCertificates, bearerToken: () => adminToken }));

interface Phase {
  readonly what: string;
  readonly operations: number;
  readonly retries: number;
  readonly seconds: number;
  readonly serverCpuSeconds: number;
  readonly simulatorCpuSeconds: number;
  /** The share of processor time that the host gave to other virtual machines. If it is large, the times prove nothing. */
  readonly stolenShare: number;
  readonly medianMilliseconds: number;
  readonly p99Milliseconds: number;
  readonly residentMebibytes: number;
  readonly connections: number;
}

/** The sockets that the server has open. */
const openConnections = (): number => {
  const folder = `/proc/${server.process.pid}/fd`;
  return readdirSync(folder).filter((file) => isSocket(join(folder, file))).length;
};

function isSocket(file: string): boolean {
  try {
    return readlinkSync(file).startsWith("socket:");
  } catch {
    return false; // the socket was closed in the meantime
  }
}

const maximumFailures = 8;

/** Starts operations evenly over the time, and waits for all of them. Measures their latencies. */
async function phase(what: string, operations: readonly (() => Promise<void>)[], seconds: number): Promise<Phase> {
  const before = { server: server.cpuSeconds(), simulator: processCpuSeconds(process.pid), stolen: stolenSeconds() };
  const startedAt = performance.now();
  const latencies: number[] = [];
  let retries = 0;
  await Promise.all(
    operations.map(async (operation, index) => {
      await delay((index / operations.length) * seconds * 1000);
      const from = performance.now();
      for (let failures = 0; ; failures++) {
        try {
          await operation();
          break;
        } catch (error) {
          retries++;
          if (failures === maximumFailures) throw error;
          // As an agent does.
          await delay(Math.min(30_000, 500 * 2 ** failures) * (0.5 + Math.random() / 2));
        }
      }
      latencies.push(performance.now() - from);
    }),
  );
  const took = (performance.now() - startedAt) / 1000;
  const sorted = latencies.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const done: Phase = {
    what,
    operations: operations.length,
    retries,
    seconds: took,
    serverCpuSeconds: server.cpuSeconds() - before.server,
    simulatorCpuSeconds: processCpuSeconds(process.pid) - before.simulator,
    stolenShare: (stolenSeconds() - before.stolen) / (took * availableParallelism()),
    medianMilliseconds: at(0.5),
    p99Milliseconds: at(0.99),
    residentMebibytes: server.residentMebibytes(),
    connections: openConnections(),
  };
  console.error(`${what}: ${operations.length} in ${took.toFixed(1)} s`);
  return done;
}

function printTable(phases: readonly Phase[]): void {
  const columns: Readonly<Record<string, (phase: Phase) => string>> = {
    what: ({ what }) => what,
    count: ({ operations }) => String(operations),
    retries: ({ retries }) => String(retries),
    seconds: ({ seconds }) => seconds.toFixed(1),
    "server CPU, % of a core": ({ serverCpuSeconds: cpu, seconds }) => ((cpu / seconds) * 100).toFixed(0),
    "server CPU for one, ms": ({ serverCpuSeconds: cpu, operations }) => ((cpu / operations) * 1000).toFixed(2),
    "simulator CPU for one, ms": ({ simulatorCpuSeconds: cpu, operations }) => ((cpu / operations) * 1000).toFixed(2),
    "median, ms": ({ medianMilliseconds }) => medianMilliseconds.toFixed(1),
    "99 %, ms": ({ p99Milliseconds }) => p99Milliseconds.toFixed(1),
    "resident, MiB": ({ residentMebibytes }) => residentMebibytes.toFixed(0),
    connections: ({ connections }) => String(connections),
    "stolen CPU, %": ({ stolenShare }) => (stolenShare * 100).toFixed(0),
  };
  const cellsOf = (phase: Phase): string[] => Object.values(columns).map((cell) => cell(phase));
  console.log(markdownTable(Object.keys(columns), phases.map(cellsOf)));
}

const stopping = new AbortController();
const agents: FleetAgent[] = [];
try {
  await permitNodeBootstrap({ client: admin, names });
  const { token, secret } = newBootstrapToken(names, {
    groups: [bootstrapGroup],
    expiresAt: undefined,
    description: "the fleet",
    nodeNames: "fleet-*",
  });
  await admin.resource(secretResource(names), names.namespaces.system).create(secret);
  const bundles = admin.resource(clusterTrustBundleResource(names));
  await bundles.create({
    apiVersion: "",
    kind: "",
    metadata: { name: bundleName },
    spec: { trustBundle: caCertificates },
  });
  for (let index = 0; index < agentCount; index++) {
    agents.push(new FleetAgent({ server: server.url, caCertificates, names, bootstrapToken: token, index }));
  }
  const phases = [
    await phase(
      "enrolment",
      agents.map((agent) => () => agent.enrol()),
      enrolSeconds,
    ),
  ];

  let seen = 0;
  let onAllSeen = (): void => undefined;
  const onBundle = (): void => {
    if (++seen === agentCount) onAllSeen();
  };
  phases.push(
    await phase(
      "opening a bundle watch",
      agents.map((agent) => () => agent.followBundle(bundleName, { onEvent: onBundle, signal: stopping.signal })),
      10,
    ),
  );
  const rounds = Math.ceil(steadySeconds / heartbeatSeconds);
  const beats = Array.from({ length: rounds }, () => agents.map((agent) => () => agent.beat())).flat();
  phases.push(await phase("heartbeats", beats, rounds * heartbeatSeconds));
  const change = async (): Promise<void> => {
    const all = new Promise<void>((resolve) => (onAllSeen = resolve));
    await bundles.patch(bundleName, { body: { metadata: { labels: { changed: "yes" } } } });
    await all;
  };
  phases.push(await phase("a bundle's change, to all watches", [change], 0));
  stopping.abort();
  phases.push(
    await phase(
      "renewals",
      agents.map((agent) => () => agent.renewClientCertificate()),
      enrolSeconds,
    ),
  );
  printTable(phases);
} finally {
  stopping.abort();
  for (const agent of agents) agent.close();
  admin.close();
  await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
