/**
 * Measures what revocations cost: a request, a list and OCSP, with none and with many revoked certificates, in one process with
 * the store in memory.
 *
 *   npm run bench:revocation -- [--certificates N]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { programFlags, wholeNumber } from "../tools/program-flags.ts";
import pino from "pino";
import { issuedCertificateResource } from "../src/features/certificates/resources.ts";
import { revocationResource } from "../src/features/revocation/resources.ts";
import type { HttpResponse } from "../src/machinery/api/http-message.ts";
import { platformNames as names } from "../src/machinery/api/names.ts";
import { MemoryStore } from "../src/machinery/storage/backends/memory.ts";
import { loopChannel } from "../src/machinery/tracing/loop-trace.ts";
import type { TracedReconcile } from "../src/machinery/tracing/loop-trace.ts";
import { parseCertificate } from "../src/pki/certificates/certificate.ts";
import { encodeRevokedEntry, parseRevocationList } from "../src/pki/revocation/certificate-revocation-list.ts";
import { formatDistinguishedName } from "../src/pki/names/distinguished-name.ts";
import { parseServerConfig } from "../src/server/settings/server-config.ts";
import { startServer } from "../src/server/start-server.ts";
import { encodeCertificateId, encodeOcspRequest } from "../test/pki/revocation/ocsp-messages.ts";
import { keptStore } from "../test/server/kept-store.ts";
import { median } from "./report/averages.ts";

const { certificates: count } = programFlags(import.meta.filename, { certificates: wholeNumber(100_000) });
const folder = mkdtempSync(join(tmpdir(), "signet-revocations-"));
const config = parseServerConfig({
  commandLine: { "data-dir": folder, "secure-port": "0", "revocation-url": "http://pki.example.com" },
  file: {},
});
const store = keptStore(new MemoryStore());
const log = pino({ level: "error" });
const server = await startServer(config, { log, store });

const send = (
  path: string,
  { method = "GET", token = "", body }: { method?: string; token?: string; body?: Buffer } = {},
): Promise<HttpResponse> =>
  server.handler({
    method,
    path,
    query: "",
    headers: {
      "content-type": "application/json",
      ...(token !== "" && { authorization: `Bearer ${token}` }),
    },
    connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
    readBody: async () => body ?? Buffer.alloc(0),
    signal: new AbortController().signal,
  });

/** The id of the first CA that the page for people shows. The CAs of other signers may come before it later. */
async function firstAuthority(): Promise<string> {
  for (;;) {
    const { body } = await send("/pki/");
    const id = typeof body === "string" ? /\/pki\/ca\/(\w+)\.crt/.exec(body)?.[1] : undefined;
    if (id !== undefined) return id;
    await delay(50);
  }
}

async function bytesOf(path: string): Promise<Buffer> {
  const { body } = await send(path);
  if (!Buffer.isBuffer(body)) throw new Error(`${path} is not there`);
  return body;
}

/** The median time of a call in microseconds, over some seconds. */
async function microseconds(call: () => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  const end = performance.now() + 3000;
  while (performance.now() < end) {
    const start = performance.now();
    await call();
    times.push(performance.now() - start);
  }
  return `${(median(times) * 1000).toFixed(0)} µs`;
}

await server.client.request("/api/v1/namespaces/default/serviceaccounts", {
  method: "POST",
  body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "asking" } },
});
const { status } = await server.client.request<{ status: { token: string } }>(
  "/api/v1/namespaces/default/serviceaccounts/asking/token",
  { method: "POST", body: { apiVersion: "authentication.platform.io/v1", kind: "TokenRequest", spec: {} } },
);
const review = Buffer.from('{"apiVersion":"authentication.platform.io/v1","kind":"SelfSubjectReview"}');
const whoami = (): Promise<unknown> =>
  send("/apis/authentication.platform.io/v1/selfsubjectreviews", { method: "POST", token: status.token, body: review });

const authority = await firstAuthority();
const listPath = `/pki/crl/${authority}.crl`;
const ca = parseCertificate(await bytesOf(`/pki/ca/${authority}.crt`));
const issuer = formatDistinguishedName(ca.subject);
console.log(`a request with none: ${await microseconds(whoami)}`);
globalThis.gc?.();
const heapBefore = process.memoryUsage().heapUsed;

const serialOf = (index: number): string => `4${index.toString(16).padStart(39, "0")}`;
/** The longest time that this thread worked without running its timers: its own processor time, without that of other programs. */
const turns = {
  longestMilliseconds: 0,
  busyMilliseconds: threadMilliseconds(),
  look(): void {
    const busyMilliseconds = threadMilliseconds();
    this.longestMilliseconds = Math.max(this.longestMilliseconds, busyMilliseconds - this.busyMilliseconds);
    this.busyMilliseconds = busyMilliseconds;
  },
  reset(): void {
    this.longestMilliseconds = 0;
    this.busyMilliseconds = threadMilliseconds();
  },
};
function threadMilliseconds(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
await delay(100);
turns.reset();
setInterval(() => turns.look(), 1).unref();
const startedAt = performance.now();
const records = server.client.resource(issuedCertificateResource(names));
const revocations = server.client.resource(revocationResource(names));
const [notBefore, notAfter] = [Date.now() - 3_600_000, Date.now() + 1e10].map((at) =>
  new Date(at).toISOString().replace(/\.\d+Z/, "Z"),
);
for (let index = 0; index < count; index += 100) {
  const turn = Array.from({ length: 100 }, (_, offset) => index + offset).flatMap((number) => [
    records.create({
      apiVersion: "",
      kind: "",
      metadata: { name: `record-${number}` },
      spec: {
        signerName: "platform.io/apiserver-client",
        serialNumber: serialOf(number),
        fingerprint: serialOf(number).padStart(64, "a"),
        issuer,
        subject: `CN=user-${number}`,
        notBefore: notBefore ?? "",
        notAfter: notAfter ?? "",
      },
    }),
    revocations.create({
      apiVersion: "",
      kind: "",
      metadata: { name: `revocation-${number}` },
      spec: { certificate: { issuer, serialNumber: serialOf(number) }, reason: "superseded" },
    }),
  ]);
  await Promise.all(turn);
  await nextTurn();
}
const entryBytes = encodeRevokedEntry({
  serialNumber: Buffer.from(serialOf(0), "hex"),
  revokedAt: Date.now(),
  reason: "superseded",
}).length;
const entriesIn = (der: Buffer): number => Math.round(parseRevocationList(der).entries.length / entryBytes);
const longestTurn = (): string => `; the longest turn of the loop took ${turns.longestMilliseconds.toFixed(0)} ms`;
const untilListed = async (wanted: number): Promise<string> => {
  const from = performance.now();
  turns.reset();
  while (entriesIn(await bytesOf(listPath)) < wanted) await delay(50);
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  return `${seconds} s${longestTurn()}`;
};
const secondsSince = (from: number): string => `${((performance.now() - from) / 1000).toFixed(1)} s`;
console.log(
  `${count} certificates issued and revoked, lists being made meanwhile: ${secondsSince(startedAt)}` + longestTurn(),
);
console.log(`until the list has all of them: ${await untilListed(count)}`);
await delay(15_000);
await revocations.create({
  ...{ apiVersion: "", kind: "", metadata: { name: "one-more" } },
  spec: { certificate: { issuer, serialNumber: serialOf(count) }, reason: "superseded" },
});
console.log(`until it has one more: ${await untilListed(count + 1)}`);
console.log(`the list: ${((await bytesOf(listPath)).length / 2 ** 20).toFixed(1)} MiB`);
globalThis.gc?.();
console.log(`heap: ${((process.memoryUsage().heapUsed - heapBefore) / 2 ** 20).toFixed(0)} MiB more`);
console.log(`a request with ${count}: ${await microseconds(whoami)}`);
const askOcsp = (nonce?: Buffer) => {
  let next = 0;
  return (): Promise<unknown> => {
    const serial = Buffer.from(serialOf(next++ % 1000), "hex");
    return send("/pki/ocsp", { method: "POST", body: encodeOcspRequest([encodeCertificateId(ca, serial)], nonce) });
  };
};
await microseconds(askOcsp());
console.log(`an OCSP answer that is kept: ${await microseconds(askOcsp())}`);
console.log(`an OCSP answer with a nonce, or too many of them: ${await microseconds(askOcsp(Buffer.alloc(16, 1)))}`);
console.log(`an answer with the whole list: ${await microseconds(() => send(listPath))}`);
await server.stop();
const startedAgainAt = performance.now();
const again = await startServer(config, { log, store });
console.log(`a start with them: ${secondsSince(startedAgainAt)}`);
await delay(10);
turns.reset();
const loopsFrom = performance.now();
await new Promise<void>((resolve) =>
  loopChannel.subscribe((message) => {
    if ((message as TracedReconcile).key === "lists") resolve(); // what the channel publishes
  }),
);
console.log(`until the loops have read them: ${secondsSince(loopsFrom)}${longestTurn()}`);
await again.stop();
rmSync(folder, { recursive: true });
