/**
 * What options cost that are off by default: the processor time of a request over HTTP/2 and TLS, with each of them alone. It
 * needs h2load and takes about two minutes.
 *
 *   npm run bench:options -- [--seconds N] [--revocations N]
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { needPrograms } from "../tools/needed-programs.ts";
import { programFlags, wholeNumber } from "../tools/program-flags.ts";
import { revocationResource } from "../src/features/revocation/resources.ts";
import { platformNames } from "../src/machinery/api/names.ts";
import { startTemporaryServer } from "../test/test-server.ts";
import { h2load } from "./load/h2load.ts";
import { startServerProcess } from "./processes/server-process.ts";
import { prepareWorkloads } from "./load/workloads.ts";

const { seconds, revocations } = programFlags(import.meta.filename, {
  seconds: wholeNumber(3),
  revocations: wholeNumber(100_000),
});
needPrograms(import.meta.filename, ["h2load"]);
const scratch = mkdtempSync(join(tmpdir(), "signet-options-bench-"));
/** Of the workloads of `npm run bench`. The review is made with a token that this server has issued. */
const shown = ["get", "create", "tokenrequest", "selfsubjectreview"];

/** Accepts all spans and discards them. */
const collector = createServer((request, response) => request.resume().on("end", () => response.end("{}")));
await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
const { port: collectorPort } = collector.address() as AddressInfo; // it listens on a port

const fileOf = (name: string, content: unknown): string => {
  const file = join(scratch, name);
  writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
  return file;
};
const config = "apiserver.config.k8s.io";
const encryption = fileOf("encryption.json", {
  apiVersion: `${config}/v1`,
  kind: "EncryptionConfiguration",
  resources: [
    {
      resources: ["*.*"],
      providers: [{ aesgcmderived: { keys: [{ name: "key", secret: Buffer.alloc(32, 1).toString("base64") }] } }],
    },
  ],
});
const issuers = fileOf("issuers.json", {
  apiVersion: `${config}/v1`,
  kind: "AuthenticationConfiguration",
  jwt: ["one", "two", "three"].map((name) => ({
    issuer: { url: `https://${name}.invalid`, audiences: ["signet"] },
    claimMappings: { username: { claim: "sub", prefix: `${name}:` } },
  })),
});

interface Way {
  readonly name: string;
  readonly flags?: readonly string[];
  readonly isTraced?: boolean;
  readonly prepare?: (dataDirectory: string) => Promise<void>;
}

const ways: readonly Way[] = [
  { name: "nothing" },
  { name: "audit log, Metadata", flags: [`--audit-log-path=${join(scratch, "audit.log")}`] },
  {
    name: "the same, mode batch",
    flags: [`--audit-log-path=${join(scratch, "batch.log")}`, "--audit-log-mode=batch"],
  },
  { name: "everything encrypted", flags: [`--encryption-provider-config=${encryption}`] },
  { name: `${revocations} revocations`, prepare: revoke },
  { name: "three OIDC issuers", flags: [`--authentication-config=${issuers}`] },
  { name: "traces", isTraced: true },
];

/** Revokes tokens that do not exist. */
async function revoke(dataDirectory: string): Promise<void> {
  const server = await startTemporaryServer({ storage: "lmdb", dataDirectory, settings: { controllers: false } });
  const resource = server.client.resource(revocationResource(platformNames));
  for (let index = 0; index < revocations; index += 500) {
    await Promise.all(
      Array.from({ length: Math.min(500, revocations - index) }, (_, offset) =>
        resource.create({
          apiVersion: "",
          kind: "",
          metadata: { name: `revocation-${index + offset}` },
          spec: { token: { id: `00000000-0000-4000-8000-${String(index + offset).padStart(12, "0")}` } },
        }),
      ),
    );
  }
  await server.stop();
}

/** Processor microseconds of a request, by workload. */
async function measured({ flags = [], isTraced = false, prepare }: Way, index: number): Promise<readonly number[]> {
  const dataDirectory = join(scratch, `way-${index}`, "data");
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  await prepare?.(dataDirectory);
  // The server inherits it.
  if (isTraced) process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = `http://127.0.0.1:${collectorPort}`;
  const server = await startServerProcess(dataDirectory, { flags: ["--controllers=false", ...flags] });
  const { cpuSeconds } = server;
  const costs: number[] = [];
  const workloads = await prepareWorkloads(server);
  for (const name of shown) {
    const workload = workloads.find((one) => one.name === name);
    if (workload === undefined) throw new Error(`there is no workload ${name}`);
    const { path, ...load } = workload;
    const url = `${server.url}${path}`;
    // The first requests compile the code.
    await h2load({ ...load, url, seconds: 1, cpuSeconds, scratch });
    const { cpuMicroseconds, failed } = await h2load({ ...load, url, seconds, cpuSeconds, scratch });
    if (failed > 0) throw new Error(`${failed} requests failed`);
    costs.push(cpuMicroseconds);
  }
  await server.stop();
  return costs;
}

const row = (name: string, cells: readonly string[]): string =>
  name.padEnd(24) + cells.map((cell) => cell.padStart(20)).join("");
console.log("processor microseconds of the server for each request");
console.log(row("", shown));
try {
  for (const [index, way] of ways.entries()) {
    console.log(
      row(
        way.name,
        (await measured(way, index)).map((cost) => cost.toFixed(0)),
      ),
    );
  }
} finally {
  collector.closeAllConnections();
  collector.close();
  rmSync(scratch, { recursive: true, force: true });
}
