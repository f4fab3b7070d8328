import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import pino from "pino";
import { formatKubeconfig } from "../../../src/machinery/client/kubeconfig/new-kubeconfig.ts";
import { openTlsSite } from "../../features/federation/tls-site.ts";
import type { TlsSite } from "../../features/federation/tls-site.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import type { AuditEvent } from "./audit-events.ts";
import { InProcess } from "../in-process.ts";

interface EventList {
  readonly kind: string;
  readonly apiVersion: string;
  readonly items: readonly AuditEvent[];
}

const until = async (isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isTrue())) await new Promise(setImmediate);
};

describe("the audit webhook", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-audit-webhook-"));
  const lines: string[] = [];
  const open: TestServer[] = [];
  let site: TlsSite;
  let lists: EventList[] = [];
  let authorization: string | undefined;

  const takes: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    ({ authorization } = request.headers);
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      lists.push(JSON.parse(Buffer.concat(chunks).toString()) as EventList); // sent by the server
      response.writeHead(200).end();
    });
  };
  const answers =
    (status: number): RequestListener =>
    (_request, response) =>
      void response.writeHead(status).end();
  const hasArrived = (id: string): boolean => lists.some(({ items }) => items.some(({ auditID }) => auditID === id));

  const kubeconfig = join(folder, "webhook.yaml");
  const writeKubeconfig = ({ path, token }: { readonly path: string; readonly token: string }): void =>
    writeFileSync(
      kubeconfig,
      formatKubeconfig({
        server: `${site.url}${path}`,
        caCertificates: site.caCertificate,
        user: "signet",
        credentials: { type: "token", token },
      }),
    );
  const serverWith = async (settings: object): Promise<InProcess> => {
    writeKubeconfig({ path: "/audit", token: "for-the-webhook" });
    const server = await startTestServer({
      log: pino({ level: "info" }, { write: (line) => void lines.push(line) }),
      settings: {
        "audit-webhook-config-file": kubeconfig,
        "audit-webhook-initial-backoff": "1ms",
        "audit-webhook-batch-max-wait": "1ms",
        "audit-webhook-batch-throttle-enable": false,
        controllers: "-*",
        ...settings,
      },
    });
    open.push(server);
    return new InProcess(server);
  };
  const lost = async (api: InProcess): Promise<number> => {
    const { body } = await api.send("/metrics");
    return Number(/^apiserver_audit_error_total\{plugin="webhook"\} (\d+)$/m.exec(String(body))?.[1]);
  };

  before(async () => {
    site = await openTlsSite();
  });

  after(async () => {
    for (const server of open) await server.stop();
    await site[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  it("gets batches of events, again after failures, but not those that it has refused", async () => {
    site.answer = takes;
    const api = await serverWith({});
    await api.send("/version", { headers: { "audit-id": "first" } });
    await until(() => hasArrived("first"));
    assert.deepEqual([lists[0]?.kind, lists[0]?.apiVersion], ["EventList", "audit.k8s.io/v1"]);
    assert.equal(authorization, "Bearer for-the-webhook");

    let failures = 0;
    site.answer = (request, response) => (++failures < 4 ? answers(503) : takes)(request, response);
    await api.send("/version", { headers: { "audit-id": "second" } });
    await until(() => hasArrived("second"));
    assert.equal(await lost(api), 0);

    site.answer = answers(400);
    await api.send("/version", { headers: { "audit-id": "refused" } });
    await until(async () => (await lost(api)) > 0);
    await until(() =>
      lines.some((line) => line.includes("cannot write audit events") && line.includes("it answered 400")),
    );
    site.answer = takes;
    await api.send("/version", { headers: { "audit-id": "third" } });
    await until(() => hasArrived("third"));
    assert.ok(!hasArrived("refused"));
    await until(() => lines.some((line) => line.includes("audit events are being written again")));
    assert.ok(!lines.join("").includes("for-the-webhook"));
  });

  it("gets events at the address and with the token that its kubeconfig has now", async () => {
    site.answer = takes;
    const api = await serverWith({});
    const paths = new Set<string | undefined>();
    site.answer = (request, response) => (paths.add(request.url), takes(request, response));
    writeKubeconfig({ path: "/elsewhere", token: "new-token" });
    open.at(-1)?.readFilesAgain();
    await api.send("/version", { headers: { "audit-id": "moved" } });
    await until(() => hasArrived("moved"));
    assert.ok(paths.has("/elsewhere"));
    assert.equal(authorization, "Bearer new-token");
    assert.ok(lines.some((line) => line.includes("file read again") && line.includes("/elsewhere")));
  });

  it("does not delay requests while it is silent, and drops and counts the events that do not fit", async () => {
    site.answer = () => {};
    const api = await serverWith({ "audit-webhook-batch-buffer-size": 20 });
    for (let index = 0; index < 50; index++) assert.equal((await api.send("/version")).status, 200);
    assert.ok((await lost(api)) >= 30);
    site.answer = takes;
  });

  it("is broken off when the server stops, or when its answer does not end", async () => {
    const { promise: isBrokenOff, resolve } = Promise.withResolvers<void>();
    site.answer = (_request, response) => {
      response.on("close", resolve);
      const more = (): boolean => response.write(Buffer.alloc(64 * 1024));
      response.on("drain", more);
      more();
    };
    const api = await serverWith({});
    await api.send("/version");
    await isBrokenOff;
    assert.equal(await lost(api), 0, "it has taken the events");
    const { promise: isEnded, resolve: ended } = Promise.withResolvers<void>();
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    site.answer = (_request, response) => {
      response.on("close", ended);
      asked();
    };
    await api.send("/version");
    await isAsked;
    await open.pop()?.stop();
    await isEnded;
    site.answer = takes;
  });

  it("delays each request in blocking mode, and in strict mode refuses requests that it cannot record", async () => {
    lists = [];
    site.answer = takes;
    const policy = join(folder, "policy.yaml");
    // Not the server's own requests, without which it does not start.
    writeFileSync(policy, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata, users: [admin] }]\n");
    for (const mode of ["blocking", "blocking-strict"]) {
      site.answer = takes;
      const api = await serverWith({ "audit-webhook-mode": mode, "audit-policy-file": policy });
      await api.send("/version", { headers: { "audit-id": mode } });
      assert.deepEqual(
        lists.flatMap(({ items }) => items.filter(({ auditID }) => auditID === mode).map(({ stage }) => stage)),
        ["RequestReceived", "ResponseComplete"],
      );
      site.answer = answers(400);
      const refused = await api.json("/api/v1/namespaces");
      assert.equal(refused.code, mode === "blocking" ? undefined : 500);
      if (mode === "blocking-strict") assert.equal(refused.message, "failed to store audit event");
      site.answer = takes;
      const { body } = await api.send("/metrics");
      const rejected = mode === "blocking" ? 0 : 1;
      assert.match(String(body), new RegExp(`^apiserver_audit_requests_rejected_total ${rejected}$`, "m"));
    }
  });

  it("in strict mode refuses requests that it cannot record without a policy too", async () => {
    site.answer = takes;
    const api = await serverWith({ "audit-webhook-mode": "blocking-strict" });
    site.answer = answers(400);
    assert.equal((await api.send("/api/v1/namespaces")).status, 500);
    site.answer = takes;
    assert.equal((await api.send("/api/v1/namespaces")).status, 200);
  });
});
