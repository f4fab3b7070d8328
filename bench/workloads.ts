import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Http2Caller } from "./http2-caller.ts";
import { adminToken } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";

/** One kind of request that the benchmarks send again and again. */
export interface Workload {
  readonly name: string;
  readonly path: string;
  readonly body?: unknown;
  readonly token: string;
}

export const accounts = "/api/v1/namespaces/bench/serviceaccounts";

export const serviceAccount = (metadata: Record<string, unknown>): unknown => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata,
});

const authentication = "/apis/authentication.platform.io/v1";

const tokenRequest = (audiences: readonly string[]): unknown => ({
  apiVersion: "authentication.platform.io/v1",
  kind: "TokenRequest",
  spec: { audiences, expirationSeconds: 3600 },
});

/** The requests that a server is loaded with; makes the namespace, the account and the token that they name. */
export async function prepareWorkloads({ url, caCertificates }: ServerProcess): Promise<readonly Workload[]> {
  const caller = new Http2Caller(url, { ca: caCertificates, token: adminToken });
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "bench" } };
  await caller.call("POST", "/api/v1/namespaces", { body: namespace });
  await caller.call("POST", accounts, { body: serviceAccount({ name: "bench" }) });
  const issued = await caller.call("POST", `${accounts}/bench/token`, { body: tokenRequest([]) });
  caller.close();
  const { token } = (JSON.parse(issued.text) as { status: { token: string } }).status; // a TokenRequest
  const request = readFileSync(join(import.meta.dirname, "../test/conformance/fixtures/csr-ecdsa.pem")).toString(
    "base64",
  );
  return [
    { name: "get", path: `${accounts}/bench`, token: adminToken },
    {
      name: "selfsubjectreview",
      path: `${authentication}/selfsubjectreviews`,
      body: { apiVersion: "authentication.platform.io/v1", kind: "SelfSubjectReview" },
      token,
    },
    {
      name: "tokenreview",
      path: `${authentication}/tokenreviews`,
      body: { apiVersion: "authentication.platform.io/v1", kind: "TokenReview", spec: { token } },
      token: adminToken,
    },
    { name: "tokenrequest", path: `${accounts}/bench/token`, body: tokenRequest(["a"]), token: adminToken },
    { name: "create", path: accounts, body: serviceAccount({ generateName: "made-" }), token: adminToken },
    {
      name: "csr-create",
      path: "/apis/certificates.platform.io/v1/certificatesigningrequests",
      body: {
        apiVersion: "certificates.platform.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { generateName: "bench-", labels: { bench: "bench" } },
        spec: { request, signerName: "example.com/bench", usages: ["client auth"] },
      },
      token: adminToken,
    },
  ];
}

/** Sends a workload's requests, 32 at a time on one connection. Rejects when one is not answered with 2xx. */
export async function sendRequests(caller: Http2Caller, { name, path, body }: Workload, count: number): Promise<void> {
  let left = count;
  const sendSome = async (): Promise<void> => {
    while (left-- > 0) {
      const { status, text } = await caller.call(body === undefined ? "GET" : "POST", path, { body });
      if (status < 200 || status > 299) throw new Error(`${name}: ${status} ${text}`);
    }
  };
  await Promise.all(Array.from({ length: 32 }, sendSome));
}
