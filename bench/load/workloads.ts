import { readFileSync } from "node:fs";
import { join } from "node:path";
import { platformNames } from "../../src/machinery/api/names.ts";
import type { Names } from "../../src/machinery/api/names.ts";
import { Http2Caller } from "./http2-caller.ts";
import { repeatConcurrently } from "./repeat-concurrently.ts";
import { adminToken } from "../processes/server-process.ts";
import type { ServerProcess } from "../processes/server-process.ts";

/** Of the workloads that one request makes. */
export const requestNames = [
  "get",
  "list",
  "selfsubjectreview",
  "tokenreview",
  "tokenrequest",
  "create",
  "csr-create",
] as const;
/** Of all workloads. `CertificateClient` makes the last one, of several requests. */
export const workloadNames = [...requestNames, "certificate"] as const;

/** One kind of request that the benchmarks send again and again. */
export interface Workload {
  readonly name: string;
  readonly path: string;
  /** Default: JSON. */
  readonly accept?: string | undefined;
  readonly body?: unknown;
  readonly token: string;
}

export const accounts = "/api/v1/namespaces/bench/serviceaccounts";
/** A list that is too long to be made at once, and too short to be made in turns of the event loop. */
const listed = { path: "/api/v1/namespaces/bench-list/serviceaccounts", count: 60 };

export const serviceAccount = (metadata: Record<string, unknown>): unknown => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata,
});

const tokenRequest = (names: Names, audiences: readonly string[]): unknown => ({
  apiVersion: `${names.group("authentication")}/v1`,
  kind: "TokenRequest",
  spec: { audiences, expirationSeconds: 3600 },
});

/** The requests that a server is loaded with; makes the namespaces, the accounts and the token that they need. */
export async function prepareWorkloads(
  { url, caCertificates }: Pick<ServerProcess, "url" | "caCertificates">,
  names: Names = platformNames,
): Promise<readonly Workload[]> {
  const authentication = `${names.group("authentication")}/v1`;
  const certificates = `${names.group("certificates")}/v1`;
  const caller = new Http2Caller(url, { ca: caCertificates, token: adminToken });
  for (const name of ["bench", "bench-list"]) {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    await caller.call("POST", "/api/v1/namespaces", { body: namespace });
  }
  await caller.call("POST", accounts, { body: serviceAccount({ name: "bench" }) });
  for (let made = 0; made < listed.count; made++)
    await caller.call("POST", listed.path, { body: serviceAccount({ name: `listed-${made}` }) });
  const issued = await caller.call("POST", `${accounts}/bench/token`, { body: tokenRequest(names, []) });
  caller.close();
  const { token } = (JSON.parse(issued.text) as { status: { token: string } }).status; // a TokenRequest
  const request = readFileSync(join(import.meta.dirname, "../../test/conformance/fixtures/csr-ecdsa.pem")).toString(
    "base64",
  );
  return [
    { name: "get", path: `${accounts}/bench`, token: adminToken },
    {
      name: "list",
      path: listed.path,
      accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
      token: adminToken,
    },
    {
      name: "selfsubjectreview",
      path: `/apis/${authentication}/selfsubjectreviews`,
      body: { apiVersion: authentication, kind: "SelfSubjectReview" },
      token,
    },
    {
      name: "tokenreview",
      path: `/apis/${authentication}/tokenreviews`,
      body: { apiVersion: authentication, kind: "TokenReview", spec: { token } },
      token: adminToken,
    },
    { name: "tokenrequest", path: `${accounts}/bench/token`, body: tokenRequest(names, ["a"]), token: adminToken },
    { name: "create", path: accounts, body: serviceAccount({ generateName: "made-" }), token: adminToken },
    {
      name: "csr-create",
      path: `/apis/${certificates}/certificatesigningrequests`,
      body: {
        apiVersion: certificates,
        kind: "CertificateSigningRequest",
        metadata: { generateName: "bench-", labels: { bench: "bench" } },
        spec: { request, signerName: "example.com/bench", usages: ["client auth"] },
      },
      token: adminToken,
    },
  ];
}

/** Sends a workload's requests, 32 at a time on one connection. Rejects when one is not answered with 2xx. */
export async function sendRequests(
  caller: Http2Caller,
  { name, path, accept, body }: Workload,
  count: number,
): Promise<void> {
  await repeatConcurrently({ times: count, concurrency: 32 }, async () => {
    const { status, text } = await caller.call(body === undefined ? "GET" : "POST", path, { accept, body });
    if (status < 200 || status > 299) throw new Error(`${name}: ${status} ${text}`);
  });
}
