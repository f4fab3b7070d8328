/**
 * Measures what the agent costs a machine: space on the disk, memory, and processor time while nothing happens but heartbeats.
 * It makes the agent's packages, and runs each beside one server until both of the node's certificates are there.
 *
 *   npm run bench:agent -- [--seconds N] [--node PROGRAM]
 */
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { programFlags, text, wholeNumber } from "../tools/program-flags.ts";
import { bootstrapGroup, permitNodeBootstrap } from "../src/features/nodes/bootstrap/bootstrap-permissions.ts";
import { newBootstrapToken } from "../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import { secretResource } from "../src/features/core/resources.ts";
import { platformNames as names } from "../src/machinery/api/names.ts";
import { ApiClient } from "../src/machinery/client/api-client.ts";
import { httpsTransport } from "../src/machinery/client/https/https-transport.ts";
import { bundleAgent } from "../tools/package/agent-bundle.ts";
import { endsWithParent } from "./processes/ends-with-parent.ts";
import { markdownTable } from "./report/markdown-table.ts";
import { processCpuSeconds } from "./processes/process-cpu.ts";
import { processStatus } from "./processes/process-status.ts";
import { adminToken, startServerProcess } from "./processes/server-process.ts";
import { writeServingApprovalPolicy } from "./load/serving-approval-policy.ts";

const { seconds: idleSeconds, node } = programFlags(import.meta.filename, {
  seconds: wholeNumber(120),
  node: text("/usr/bin/node"),
});
/** After the start, the runtime collects its garbage once more. */
const settleSeconds = 30;
const root = join(import.meta.dirname, "..");

const scratch = mkdtempSync(join(tmpdir(), "signet-agent-bench-"));
const file = (name: string): string => join(scratch, name);

interface Variant {
  readonly name: string;
  readonly command: readonly string[];
  readonly megabytes: number;
}

const megabytes = (...paths: readonly string[]): number =>
  paths.map((path) => statSync(path).size / 1e6).reduce((sum, one) => sum + one, 0);

async function variants(): Promise<Variant[]> {
  const { status } = spawnSync(process.execPath, [join(root, "tools/package/agent.ts"), scratch], { stdio: "inherit" });
  if (status !== 0) throw new Error("the packages could not be made");
  const { program } = await bundleAgent();
  writeFileSync(file("signet-agent.cjs"), program);
  const version = spawnSync(node, ["--version"], { encoding: "utf8" });
  const launcher = readFileSync(join(root, "packaging/debian-agent/signet-agent"), "utf8").replaceAll(
    "/usr/lib/signet-agent",
    scratch,
  );
  writeFileSync(file("launcher"), launcher.replaceAll("node -", `${node} -`), { mode: 0o755 });
  const own =
    version.status === 0
      ? [
          {
            name: `package, with the machine's Node.js ${version.stdout.trim()}`,
            command: [file("launcher")],
            megabytes: megabytes(file("signet-agent.cjs"), node),
          },
        ]
      : [];
  // Right after a file was written, the kernel maps far more of it than is used. This restores the state after a start of the machine:
  spawnSync("sync", [file("signet-agent")]);
  spawnSync("dd", [`if=${file("signet-agent")}`, "iflag=nocache", "count=0"]);
  return [
    ...own,
    {
      name: `executable, with Node.js ${process.version}`,
      command: [file("signet-agent")],
      megabytes: megabytes(file("signet-agent")),
    },
    {
      name: `signet agent of the whole package, Node.js ${process.version}`,
      command: [process.execPath, "--disable-sigusr1", join(root, "src/main.js"), "agent"],
      megabytes: Number.NaN,
    },
  ];
}

interface Measured {
  readonly variant: Variant;
  readonly startSeconds: number;
  readonly idlePercent: number;
  readonly residentMebibytes: number;
  readonly ownMebibytes: number;
}

/** Resolves when both certificates of the node are there. */
async function certificates({ stderr }: ChildProcess): Promise<void> {
  if (stderr === null) throw new Error("the log is not piped");
  for await (const line of createInterface({ input: stderr })) {
    if (line.includes('"certificate":"serving"') && line.includes("is in use")) break;
  }
  stderr.resume();
}

async function measure(
  variant: Variant,
  { flags, index }: { readonly flags: readonly string[]; readonly index: number },
): Promise<Measured> {
  const [program = "", ...words] = [...endsWithParent, ...variant.command, ...flags];
  const own = ["--node-name", `bench-${index}`, "--data-dir", file(`data-${index}`), "--node-ip", `10.9.0.${index}`];
  const child = spawn(program, [...words, ...own, "--port", "0"], { stdio: ["ignore", "ignore", "pipe"] });
  const id = child.pid ?? 0;
  await certificates(child);
  const startSeconds = processCpuSeconds(id);
  await delay(settleSeconds * 1000);
  const before = processCpuSeconds(id);
  await delay(idleSeconds * 1000);
  const result = {
    variant,
    startSeconds,
    idlePercent: ((processCpuSeconds(id) - before) / idleSeconds) * 100,
    residentMebibytes: processStatus(id, "VmRSS") / 1024,
    ownMebibytes: processStatus(id, "RssAnon") / 1024,
  };
  child.kill("SIGTERM");
  return result;
}

const all = await variants();
const server = await startServerProcess(file("server"), { flags: [writeServingApprovalPolicy(file("policy.yaml"))] });
try {
  const caCertificates = server.caCertificates.toString("utf8");
  const admin = new ApiClient(httpsTransport({ server: server.url, caCertificates, bearerToken: () => adminToken }));
  await permitNodeBootstrap({ client: admin, names });
  const { token, secret } = newBootstrapToken(names, {
    groups: [bootstrapGroup],
    expiresAt: undefined,
    description: "the benchmark",
  });
  await admin.resource(secretResource(names), names.namespaces.system).create(secret);
  admin.close();
  writeFileSync(file("token"), token, { mode: 0o600 });
  const flags = [
    ...["--server", server.url, "--ca-file", join(scratch, "server/ca.crt"), "--bootstrap-token-file", file("token")],
    ...["--trust-bundle", `platform.io:nodeagent-serving:ca:${file("bundle.pem")}`],
  ];
  const results = await Promise.all(all.map((variant, index) => measure(variant, { flags, index: index + 1 })));
  const head = ["agent", "on disk, MB", "start, CPU s", "idle, % of a core", "resident, MiB", "of it its own, MiB"];
  const rows = results.map(({ variant, startSeconds, idlePercent, residentMebibytes, ownMebibytes }) => [
    variant.name,
    Number.isNaN(variant.megabytes) ? "" : variant.megabytes.toFixed(1),
    startSeconds.toFixed(2),
    idlePercent.toFixed(3),
    residentMebibytes.toFixed(1),
    ownMebibytes.toFixed(1),
  ]);
  console.log(markdownTable(head, rows));
} finally {
  await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
