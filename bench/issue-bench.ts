/**
 * Measures how many certificates a second go all the way: requested, approved and signed over HTTP/2 and TLS, durable in the
 * embedded store and recorded in the inventory; and what share that is of the bare signatures of the same CA key.
 *
 *   npm run bench:issue -- [--requests N] [--concurrency N] [-- FLAGS OF serve]
 */
import { sign } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createCertificateRequestPem } from "../src/pki/create-certificate-request.ts";
import { generatePrivateKey, parsePrivateKeyPem } from "../src/pki/keys.ts";
import { noSubjectAltNames } from "../src/pki/subject-alt-names.ts";
import { Http2Caller } from "./http2-caller.ts";
import { adminToken, startServerProcess } from "./server-process.ts";

const { values: options, positionals: serveFlags } = parseArgs({
  allowPositionals: true,
  options: { requests: { type: "string", default: "10000" }, concurrency: { type: "string", default: "64" } },
});
const requestCount = Number(options.requests);
const warmUpCount = Math.ceil(requestCount / 5);
const path = "/apis/certificates.platform.io/v1/certificatesigningrequests";

interface Request {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly certificate?: string };
}

const scratch = mkdtempSync(join(tmpdir(), "signet-bench-"));
const dataDirectory = join(scratch, "data");
const server = await startServerProcess(dataDirectory, { flags: serveFlags });
const caller = new Http2Caller(server.url, { ca: server.caCertificates, token: adminToken });

// One request for all: what a client's own key and signature cost is not the server's.
const request = Buffer.from(
  createCertificateRequestPem({
    privateKey: generatePrivateKey("ECDSA P-256"),
    subject: { commonName: "bench", organizations: ["bench"] },
    subjectAltNames: noSubjectAltNames,
  }),
).toString("base64");

let onIssued = (): void => {};
const issued = new Set<string>();
const watch = caller.watch(`${path}?watch=true`, (line) => {
  const { object } = JSON.parse(line) as { object: Request };
  if (!object.status?.certificate || issued.has(object.metadata.name)) return;
  issued.add(object.metadata.name);
  onIssued();
});

async function post(method: string, target: string, body: unknown): Promise<Request> {
  const { status, text } = await caller.call(method, target, { body });
  if (status >= 300) throw new Error(`${method} ${target}: ${status} ${text}`);
  return JSON.parse(text) as Request;
}

async function requestAndApprove(name: string): Promise<void> {
  const created = await post("POST", path, {
    apiVersion: "certificates.platform.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name },
    spec: { request, signerName: "platform.io/apiserver-client", usages: ["digital signature", "client auth"] },
  });
  const condition = { type: "Approved", status: "True", reason: "Bench", message: "approved by the bench" };
  await post("PUT", `${path}/${name}/approval`, { ...created, status: { conditions: [condition] } });
}

/** Seconds from the first request to the last certificate that the watch has brought. */
async function issueMany(count: number, prefix: string): Promise<number> {
  issued.clear();
  const all = new Promise<void>((resolve) => {
    onIssued = () => {
      if (issued.size === count) resolve();
    };
  });
  const startedAt = performance.now();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await requestAndApprove(`${prefix}-${next++}`);
  };
  await Promise.all(Array.from({ length: Number(options.concurrency) }, work));
  await all;
  return (performance.now() - startedAt) / 1000;
}

/** Signatures of the CA's key for each second of CPU, over as much as a certificate's contents. */
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
  await issueMany(warmUpCount, "warm");
  const cpuBefore = server.cpuSeconds();
  const seconds = await issueMany(requestCount, "bench");
  const perSecond = requestCount / seconds;
  const perCpuSecond = requestCount / (server.cpuSeconds() - cpuBefore);
  const bare = bareSignatures();
  const share = (one: number): string => `${((100 * one) / bare).toFixed(1)} %`;
  console.log("| what | count | of the bare rate |");
  console.log("|---|---:|---:|");
  console.log(
    `| requested, approved, signed and recorded, a second | ${Math.round(perSecond)} | ${share(perSecond)} |`,
  );
  console.log(`| the same, a second of the server's CPU | ${Math.round(perCpuSecond)} | ${share(perCpuSecond)} |`);
  console.log(`| bare ECDSA P-256 signatures of the same key, a second of CPU | ${Math.round(bare)} | 100 % |`);
} finally {
  watch.close();
  caller.close();
  await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
